// A row of tabs whose choice is a trait; the panels are widgets beside it.

function render({ model, el }) {
  el.classList.add("rx-panel-tabs");
  const list = document.createElement("div");
  list.className = "rx-tabs";
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", model.get("label"));
  el.append(list);

  function draw() {
    list.replaceChildren();
    for (const [id, title] of model.get("tabs")) {
      const tab = document.createElement("button");
      const on = id === model.get("value");
      tab.type = "button";
      tab.className = "rx-tab";
      tab.dataset.id = id;
      tab.textContent = title;
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      tab.addEventListener("click", () => choose(id));
      list.append(tab);
    }
  }
  function choose(id) {
    model.set("value", id);
    model.save_changes();
  }
  list.addEventListener("keydown", (event) => {
    const all = [...list.children];
    const at = all.findIndex((t) => t.getAttribute("aria-selected") === "true");
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(all[(to + all.length) % all.length].dataset.id);
    list.querySelector('[aria-selected="true"]').focus();
  });
  model.on("change:value", () => {
    const focused = list.contains(document.activeElement);
    draw();
    if (focused) list.querySelector('[aria-selected="true"]').focus();
  });
  model.on("change:tabs", draw);
  draw();
}

export default { render };
