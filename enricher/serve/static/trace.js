// Choosing a statement marks its passage and scrolls to it, without another page; and the trace is judged by keyboard.
"use strict";
(() => {
  const panel = document.getElementById("documents");
  if (!panel) return;
  const stepped = [...document.querySelectorAll(".statement[data-card]")];
  const named = (name, key) => document.querySelectorAll(`[data-${name}~="${CSS.escape(key)}"]`);

  function choose(key, from) {
    for (const old of document.querySelectorAll(".chosen")) old.classList.remove("chosen");
    const marks = [...named("for", key)];
    for (const mark of marks) mark.classList.add("chosen");
    for (const card of named("card", key)) {
      card.classList.add("chosen");
      const closed = card.closest("details:not([open])");
      if (closed) closed.open = true;
      if (from !== "card") card.scrollIntoView({ block: "nearest" });
    }
    const passage = marks.find((mark) => panel.contains(mark));
    if (passage) {
      passage.closest("details").open = true;
      passage.scrollIntoView({ block: "center" });
    }
    const address = new URL(location.href);
    address.searchParams.set("statement", key);
    address.hash = passage ? "passage" : "";
    history.replaceState(null, "", address);
    say(passage ? `Passage: ${passage.textContent.slice(0, 300)}` : "No passage of the documents is named for this.");
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-statement]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    choose(link.dataset.statement, link.closest(".statement") ? "card" : "answer");
  });

  function step(by) {
    if (!stepped.length) return;
    const now = stepped.findIndex((card) => card.classList.contains("chosen"));
    const next = stepped[now < 0 ? 0 : Math.max(0, Math.min(stepped.length - 1, now + by))];
    const closed = next.closest("details:not([open])");
    if (closed) closed.open = true;
    choose(next.dataset.card, "key");
    next.querySelector("[data-statement]").focus({ preventScroll: true });
  }

  function decide(key) {
    const field = document.querySelector(`#decide [data-key="${key}"]`);
    if (!field) return;
    if (field.type === "radio") field.checked = true;
    field.closest("#decision").scrollIntoView({ block: "nearest" });
    field.focus();
    say(field.type === "radio" ? `${field.value}; press Enter to decide` : "Comment");
  }

  // A corrected statement is a correction.
  document.addEventListener("change", (event) => {
    if (event.target.name && event.target.name.startsWith("set.") && event.target.value) {
      const correct = document.querySelector("#decide [value=correct]");
      if (correct) correct.checked = true;
    }
  });

  const keys = { j: () => step(1), k: () => step(-1), o: () => { const link = document.getElementById("platform"); if (link) link.click(); } };
  for (const key of ["1", "2", "3", "4"]) keys[key] = () => decide(key);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=radio]), select, textarea")) return;
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });

  if (location.hash === "#correct") decide("3");
  if (location.hash === "#comment") decide("4");
  const marked = document.getElementById("passage");
  if (marked && location.hash === "#passage") marked.scrollIntoView({ block: "center" });
})();
