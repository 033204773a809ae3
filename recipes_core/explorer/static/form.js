// A form whose fields are data: text, number, range (by stops), select, area. It keeps the focus while it changes.
// A text is told when the reader leaves it; one that is live, after a pause in the typing.

function render({ model, el }) {
  el.classList.add("rx-form");
  const uid = `rx-form-${Math.random().toString(36).slice(2, 8)}`;
  const nodes = new Map();

  function make(field) {
    const box = document.createElement("div");
    box.className = `rx-form-field rx-form-${field.kind}${field.wide ? " rx-form-wide" : ""}`;
    const label = document.createElement("label");
    label.htmlFor = `${uid}-${field.name}`;
    const tag = field.kind === "select" ? "select" : field.kind === "area" ? "textarea" : "input";
    const input = document.createElement(tag);
    input.className = field.kind === "range" ? "rx-range" : "rx-input";
    input.id = label.htmlFor;
    if (tag === "input") input.type = field.kind === "range" ? "range" : "text";
    if (field.kind === "number") input.inputMode = "decimal";
    input.autocomplete = "off";
    input.spellcheck = false;
    const value = document.createElement("output");
    value.className = "rx-range-value";
    value.htmlFor = input.id;
    const hint = document.createElement("div");
    hint.className = "rx-hint";
    hint.id = `${input.id}-hint`;
    input.setAttribute("aria-describedby", hint.id);
    const head = document.createElement("div");
    head.className = "rx-form-head";
    head.append(label);
    if (field.kind === "range") head.append(value);
    box.append(head, input, hint);
    const entry = { box, label, input, value, hint, field, timer: null, dirty: false };
    const tell = () => {
      const now = entry.field;
      entry.dirty = false;
      const sent = now.kind === "range" ? now.stops[Number(input.value)][1] : input.value;
      const value = sent.slice(0, model.get("longest"));
      model.send({ kind: "field", name: now.name, value, length: sent.length });
    };
    const later = (pause) => {
      clearTimeout(entry.timer);
      entry.timer = setTimeout(tell, pause);
    };
    // What the reader has begun is not overwritten by what was already on its way.
    input.addEventListener("input", () => {
      entry.dirty = true;
      if (field.kind === "range") {
        show(entry);
        later(120);
      } else if (entry.field.live) {
        later(700);
      }
    });
    if (field.kind !== "range") {
      input.addEventListener("change", () => {
        clearTimeout(entry.timer);
        tell();
      });
    }
    return entry;
  }

  function show(entry) {
    if (entry.field.kind !== "range") return;
    const stop = entry.field.stops[Number(entry.input.value)];
    entry.value.textContent = stop ? stop[0] : "";
    entry.input.setAttribute("aria-valuetext", stop ? stop[0] : "");
  }

  function update(entry, field) {
    entry.field = field;
    const { input } = entry;
    entry.label.textContent = field.label;
    writeHint(entry.hint, field.hint || "");
    if (field.placeholder) input.placeholder = field.placeholder;
    if (field.kind === "range") {
      input.min = 0;
      input.max = Math.max(0, field.stops.length - 1);
      input.step = 1;
      const at = field.stops.findIndex((stop) => stop[1] === field.value);
      if (!entry.dirty) input.value = Math.max(0, at);
      show(entry);
      return;
    }
    if (field.kind === "select") {
      const wanted = JSON.stringify(field.options);
      if (input.dataset.options !== wanted) {
        input.dataset.options = wanted;
        input.replaceChildren(
          ...field.options.map(([text, value]) => {
            const option = document.createElement("option");
            option.textContent = text;
            option.value = value;
            return option;
          }),
        );
      }
    }
    if (field.kind === "area") input.rows = field.rows || 6;
    if (!entry.dirty && input.value !== field.value) input.value = field.value;
  }

  function draw() {
    const fields = model.get("fields");
    const names = new Set(fields.map((field) => field.name));
    for (const [name, entry] of nodes) {
      if (!names.has(name)) {
        entry.box.remove();
        nodes.delete(name);
      }
    }
    fields.forEach((field, place) => {
      let entry = nodes.get(field.name);
      if (!entry) {
        entry = make(field);
        nodes.set(field.name, entry);
      }
      if (el.children[place] !== entry.box) el.insertBefore(entry.box, el.children[place] || null);
      update(entry, field);
    });
  }
  model.on("change:fields", draw);
  draw();
}

export default { render };
