// The command card: a tab per step in start order, in a shell's or a container's words, with copy and download.

const WORDS = /('(?:[^']|'"'"')*')|(--?[A-Za-z][\w.-]*)|(\$[A-Za-z_]\w*|\$\{[^}]*\})|((?:^|\s)#.*$)/g;

function make(tag, classes, text) {
  const node = document.createElement(tag);
  if (classes) node.className = classes;
  if (text !== undefined) node.textContent = text;
  return node;
}

function paint(line, into) {
  let last = 0;
  for (const match of line.matchAll(WORDS)) {
    // A dash inside a word is no flag.
    const flagInWord = match[2] && match.index > 0 && !/[\s=]/.test(line[match.index - 1]);
    if (flagInWord) continue;
    into.append(line.slice(last, match.index));
    const kind = match[1] ? "rx-str" : match[2] ? "rx-flag" : match[3] ? "rx-var" : "rx-rem";
    into.append(make("span", kind, match[0]));
    last = match.index + match[0].length;
  }
  into.append(line.slice(last));
}

function block(item) {
  const pre = make("pre", "rx-code");
  pre.tabIndex = 0;
  pre.setAttribute("role", "region");
  pre.setAttribute("aria-label", item.label);
  const changed = new Set(item.changed || []);
  item.text.split("\n").forEach((line, number) => {
    const row = make("span", changed.has(number) ? "rx-line rx-changed" : "rx-line");
    const why = item.why && item.why[number];
    if (why) row.dataset.why = why;
    // An empty block has no height; the break in it is not copied twice.
    if (line) paint(line, row);
    else row.append(document.createElement("br"));
    pre.append(row);
  });
  return pre;
}

function render({ model, el }) {
  let form = model.get("form");
  let active = null;
  el.classList.add("rx-command");
  const bar = make("div", "rx-command-bar");
  const tabs = make("div", "rx-tabs");
  tabs.setAttribute("role", "tablist");
  tabs.setAttribute("aria-label", "Steps, in start order");
  const tools = make("div", "rx-tools");
  const body = make("div", "rx-command-body");
  body.setAttribute("role", "tabpanel");
  const foot = make("div", "rx-command-foot");
  const words = make("span", "rx-foot-text");
  bar.append(tabs, tools);
  el.append(bar, body, foot);
  const uid = `rx-${Math.random().toString(36).slice(2, 8)}`;
  body.id = `${uid}-panel`;

  const steps = () => model.get("steps");
  const current = () => steps().find((step) => step.id === active) || steps().find((s) => s.main) || steps()[0];

  function shownBlocks(step) {
    const forms = step.blocks.filter((item) => !item.form || item.form === form);
    return forms.length ? forms : step.blocks.slice(0, 1);
  }

  function drawTabs() {
    const step = current();
    const known = [...tabs.children].map((t) => t.dataset.id).join("|");
    const wanted = steps().map((s) => s.id).join("|");
    if (known !== wanted) {
      tabs.replaceChildren();
      for (const item of steps()) {
        const tab = make("button", "rx-tab");
        tab.type = "button";
        tab.dataset.id = item.id;
        tab.id = `${uid}-tab-${item.id}`;
        tab.setAttribute("role", "tab");
        tab.setAttribute("aria-controls", body.id);
        tab.addEventListener("click", () => choose(item.id));
        tabs.append(tab);
      }
    }
    const byId = new Map(steps().map((item) => [item.id, item]));
    for (const tab of tabs.children) {
      const item = byId.get(tab.dataset.id);
      tab.replaceChildren();
      if (item.order) tab.append(make("span", "rx-order", String(item.order)));
      tab.append(item.title);
      const changed = item.blocks.some((b) => b.changed || b.gone);
      tab.classList.toggle("rx-tab-changed", changed);
      tab.title = changed ? "Changed by the last choice" : "";
      const on = item.id === step.id;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
    }
    body.setAttribute("aria-labelledby", `${uid}-tab-${step.id}`);
  }

  function drawTools() {
    const step = current();
    const forms = [...new Set(step.blocks.map((item) => item.form).filter(Boolean))];
    tools.replaceChildren();
    if (forms.length > 1) {
      const group = make("div", "rx-switch");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", "Form of the command");
      for (const name of forms) {
        const button = make("button", "rx-switch-part", name === "docker" ? "Docker" : "Shell");
        button.type = "button";
        button.setAttribute("aria-pressed", String(name === form));
        button.addEventListener("click", () => {
          form = name;
          draw();
          [...tools.querySelectorAll(".rx-switch-part")].find((b) => b.getAttribute("aria-pressed") === "true")?.focus();
        });
        group.append(button);
      }
      tools.append(group);
    }
    // Of several blocks each has its own: pasted together they would not be one command.
    const shown = shownBlocks(step);
    const whole = shown.length === 1 ? shown[0] : shown.find((item) => item.main);
    if (whole) tools.append(copier(whole, `Copy ${step.title}`, "rx-primary"));
  }

  function copier(item, label, kind) {
    const copy = make("button", `rx-button ${kind}`, "Copy");
    copy.type = "button";
    copy.dataset.rxCopy = "";
    copy.setAttribute("aria-label", label);
    copy.rxText = () => item.text;
    return copy;
  }

  function drawBody() {
    const step = current();
    body.replaceChildren();
    const blocks = shownBlocks(step);
    for (const item of blocks) {
      if (item.title || blocks.length > 1) {
        const head = make("div", "rx-block-title");
        head.append(make("span", "", item.title || step.title));
        if (blocks.length > 1) head.append(copier(item, `Copy ${item.label}`, "rx-quiet"));
        body.append(head);
      }
      body.append(block(item));
      if (item.note) body.append(make("p", "rx-note", item.note));
    }
    const gone = blocks.flatMap((item) => item.gone || []);
    const left = gone.length ? `No longer there: ${gone.join(", ")}.` : "";
    words.dataset.note = [left, step.note].filter(Boolean).join(" ");
    writeHint(words, words.dataset.note);
    drawFoot(step);
    showChange();
  }

  // A change below the fold of a long command is brought into view.
  function showChange() {
    const row = body.scrollHeight > body.clientHeight && body.querySelector(".rx-changed");
    if (!row) return;
    const top = row.offsetTop - body.offsetTop;
    if (top < body.scrollTop || top + row.offsetHeight > body.scrollTop + body.clientHeight) {
      body.scrollTop = top - body.clientHeight / 3;
    }
  }

  function getter(text, label, message) {
    const button = make("button", "rx-button rx-quiet", text);
    button.type = "button";
    button.setAttribute("aria-label", label);
    button.addEventListener("click", () => model.send(message()));
    return button;
  }

  function drawFoot(step) {
    const buttons = [];
    if (step.file) {
      buttons.push(getter("Script", `Script: download ${step.title}`, () => ({ kind: "script", id: step.id, form })));
    }
    buttons.push(getter("All (.zip)", "All (.zip): download every script and file", () => ({ kind: "zip", form })));
    foot.replaceChildren(words, ...buttons);
  }

  function draw() {
    if (!steps().length) return;
    drawTabs();
    drawTools();
    drawBody();
    el.dataset.revision = model.get("revision");
  }

  function choose(id) {
    active = id;
    draw();
    body.scrollTop = 0;
    const tab = tabs.querySelector('[aria-selected="true"]');
    // The strip alone: the page stays where it is.
    tabs.scrollLeft = Math.min(tabs.scrollLeft, tab.offsetLeft - tabs.offsetLeft);
    tabs.scrollLeft = Math.max(
      tabs.scrollLeft,
      tab.offsetLeft - tabs.offsetLeft + tab.offsetWidth - tabs.clientWidth,
    );
  }

  tabs.addEventListener("keydown", (event) => {
    const all = [...tabs.children];
    const at = all.findIndex((t) => t.getAttribute("aria-selected") === "true");
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = all[(to + all.length) % all.length];
    choose(next.dataset.id);
    tabs.querySelector('[aria-selected="true"]').focus();
  });
  body.addEventListener("mouseover", (event) => {
    const row = event.target.closest("[data-why]");
    writeHint(words, row ? row.dataset.why : words.dataset.note);
  });
  body.addEventListener("mouseleave", () => {
    writeHint(words, words.dataset.note);
  });
  // One draw for all traits of one message.
  const later = () => draw();
  model.on("change:form", () => {
    form = model.get("form");
  });
  model.on("change:revision", later);
  draw();
}

export default { render };
