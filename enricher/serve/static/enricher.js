// What all pages share. Everything works without it; with it, parts of a page are replaced in place.
"use strict";

// Says something to people who do not see the page change.
function say(text) {
  const place = document.getElementById("said");
  if (place) place.textContent = text;
}

// A form that a program sends is told once what went wrong; the page itself stays.
document.addEventListener("htmx:responseError", (event) => {
  const answer = new DOMParser().parseFromString(event.detail.xhr.responseText, "text/html");
  const sentence = answer.querySelector("main p");
  say(sentence ? sentence.textContent : "This did not work; reload the page.");
});
document.addEventListener("htmx:sendError", () => say("The server does not answer."));

// Filters apply as they are chosen; the button is for those without scripts.
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-at-once]");
  if (form) form.requestSubmit();
});
