// Work through the queue by keyboard: j and k move, o opens, 1 to 4 decide, x chooses, n takes the next one.
"use strict";
(() => {
  const list = document.getElementById("list");
  const items = list ? [...list.querySelectorAll(".item")] : [];
  let at = -1;

  function go(to) {
    if (!items.length) return;
    if (at >= 0) items[at].classList.remove("at");
    at = Math.max(0, Math.min(items.length - 1, to));
    items[at].classList.add("at");
    items[at].focus({ preventScroll: true });
    items[at].scrollIntoView({ block: "nearest" });
    say(`${at + 1} of ${items.length}: ${items[at].querySelector(".ask").textContent}`);
  }

  function open(hash) {
    const link = at >= 0 && items[at].querySelector(".ask");
    if (link) location.assign(hash ? link.href + hash : link.href);
  }

  function press(key) {
    const button = at >= 0 && items[at].querySelector(`[data-key="${key}"]`);
    if (button && !button.disabled) button.click();
  }

  function choose() {
    const box = at >= 0 && items[at].querySelector("input[name=item]");
    if (box) box.click();
  }

  const boxes = list ? [...list.querySelectorAll("input[name=item]")] : [];
  const all = document.getElementById("all");
  function told() {
    const count = boxes.filter((box) => box.checked).length;
    document.getElementById("chosen").textContent = count ? `With the ${count} chosen:` : "With the chosen:";
    all.checked = count === boxes.length;
    all.indeterminate = count > 0 && count < boxes.length;
  }
  if (all) {
    all.hidden = false;
    all.setAttribute("aria-label", "Choose all of this page");
    all.addEventListener("change", () => { for (const box of boxes) box.checked = all.checked; told(); });
    list.addEventListener("change", (event) => { if (event.target.name === "item") told(); });
  }

  const keys = {
    j: () => go(at + 1), k: () => go(at < 0 ? 0 : at - 1), o: () => open(""), Enter: () => open(""), x: choose,
    1: () => press(1), 2: () => press(2), 3: () => open("#correct"), 4: () => open("#comment"),
    n: () => { const form = document.querySelector(".go-on"); if (form) form.requestSubmit(); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), select, textarea")) return;
    if (event.key === "Enter" && event.target.closest("a, button, input, summary")) return;
    const act = keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });
})();
