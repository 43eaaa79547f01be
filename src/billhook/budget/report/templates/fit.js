// Shows the settings of the configuration that is pointed at or has the focus.
(() => {
  const chart = document.getElementById("candidates");
  if (!chart) return;
  const [label, settings] = document.getElementById("panel").children;
  const number = (dot, name) => parseFloat(dot.getAttribute(name));
  const dots = [...chart.querySelectorAll(".dot")].sort(
    (a, b) => number(a, "cx") - number(b, "cx") || number(b, "cy") - number(a, "cy"),
  );
  let selected = null;

  function select(dot) {
    if (dot === selected) return;
    if (selected) selected.classList.remove("selected");
    selected = dot;
    dot.classList.add("selected");
    label.textContent = dot.getAttribute("aria-label");
    settings.textContent = dot.dataset.settings;
  }

  // One of the dots can be reached with the tab key, the others from there.
  function focus(dot) {
    for (const other of chart.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    dot.tabIndex = 0;
    dot.focus({ preventScroll: true });
  }

  // Dots are small: the nearest within a finger's breadth is meant.
  function nearest(event) {
    const box = chart.getBoundingClientRect();
    let best = null;
    let least = 24 ** 2;
    for (const dot of dots) {
      const dx = box.left + (number(dot, "cx") / 100) * box.width - event.clientX;
      const dy = box.top + (number(dot, "cy") / 100) * box.height - event.clientY;
      if (dx * dx + dy * dy < least) {
        best = dot;
        least = dx * dx + dy * dy;
      }
    }
    return best;
  }

  function follow() {
    const dot = document.getElementById(location.hash.slice(1));
    if (!dots.includes(dot)) return;
    focus(dot);
    chart.scrollIntoView({ block: "center" });
  }

  for (const kind of ["pointermove", "pointerdown"]) {
    chart.parentElement.addEventListener(kind, (event) => {
      const dot = nearest(event);
      if (dot) select(dot);
    });
  }
  chart.addEventListener("focusin", (event) => {
    if (dots.includes(event.target)) select(event.target);
  });
  chart.addEventListener("keydown", (event) => {
    const at = dots.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: dots.length - 1 };
    if (at < 0 || !(event.key in to)) return;
    event.preventDefault();
    focus(dots[Math.min(Math.max(to[event.key], 0), dots.length - 1)]);
  });
  window.addEventListener("hashchange", follow);
  for (const link of document.querySelectorAll('a[href^="#dot-"]')) {
    link.addEventListener("click", () => setTimeout(follow)); // also when the address has it already
  }
  follow();
})();
