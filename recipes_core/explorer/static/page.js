// What the page as a whole does: its address, the session, copying, downloads, hints beside the axes, shortcuts.

const PREFIX = "recipes-explorer:";

async function copyText(text) {
  if (navigator.clipboard && window.isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Refused (no permission): the fallback below still works.
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.setAttribute("readonly", "");
  area.style.cssText = "position:fixed;top:0;left:-200vw;";
  document.body.append(area);
  const before = document.activeElement;
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before?.focus?.();
  return done;
}

function save(name, parts, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function render({ model, el }) {
  const controller = new AbortController();
  const on = (target, name, handler) => target.addEventListener(name, handler, { signal: controller.signal });
  const voila = document.body.dataset.voila === "voila";
  el.classList.add("rx-page");
  const live = document.createElement("div");
  live.className = "rx-visually-hidden";
  live.setAttribute("role", "status");
  const banner = document.createElement("div");
  banner.className = "rx-ended";
  banner.hidden = true;
  banner.setAttribute("role", "alert");
  el.append(live, banner);

  const root = () => el.closest(".rx-root") || document;
  const say = (text) => {
    live.textContent = "";
    requestAnimationFrame(() => (live.textContent = text));
  };

  // --- address
  function address() {
    const query = model.get("query");
    if (!voila) return query;
    const theme = new URLSearchParams(location.search).get("theme");
    const rest = theme ? `&theme=${encodeURIComponent(theme)}` : "";
    return `${location.pathname}?${query}${rest}`;
  }
  function writeAddress() {
    if (voila && model.get("query")) history.replaceState(history.state, "", address());
    if (voila && model.get("title")) document.title = model.get("title");
  }
  model.on("change:query", writeAddress);
  model.on("change:title", writeAddress);
  model.on("change:announce", () => say(model.get("announce")));

  // --- hints and option marks beside the axes, which the widgets themselves cannot show
  function decorate() {
    const hints = model.get("hints");
    for (const [name, text] of Object.entries(hints)) {
      const box = root().querySelector(`.rx-axis-${name}`);
      const field = box?.querySelector("select, input");
      if (!field) continue;
      let hint = box.querySelector(".rx-hint");
      if (!hint) {
        hint = document.createElement("div");
        hint.className = "rx-hint";
        hint.id = `rx-hint-${name}-${Math.random().toString(36).slice(2, 8)}`;
        box.append(hint);
        field.setAttribute("aria-describedby", hint.id);
      }
      if (hint.textContent !== text) hint.textContent = text;
    }
  }
  let queued = false;
  const observer = new MutationObserver(() => {
    if (!queued) {
      queued = true;
      requestAnimationFrame(() => {
        queued = false;
        decorate();
      });
    }
  });
  model.on("change:hints", decorate);
  requestAnimationFrame(() => {
    decorate();
    const axes = root().querySelector?.(".rx-axes");
    if (axes) observer.observe(axes, { childList: true, subtree: true });
    setTimeout(decorate, 500);
  });

  // --- copy, toggles, theme
  async function copied(button, text) {
    const done = await copyText(text);
    const label = button.dataset.rxLabel || (button.dataset.rxLabel = button.textContent);
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    say(done ? "Copied" : "Copying was refused by the browser");
    clearTimeout(button.rxTimer);
    button.rxTimer = setTimeout(() => (button.textContent = label), 1500);
  }
  on(document, "click", (event) => {
    const button = event.target.closest?.("button, a");
    if (!button || !root().contains(button)) return;
    if (button.matches(".rx-prose a[href^='http']")) {
      // A guide's link must not take the page, and with it the session, away.
      button.target = "_blank";
      button.rel = "noopener noreferrer";
      return;
    }
    if ("rxCopy" in button.dataset) {
      const source = button.dataset.rxCopy && root().querySelector(button.dataset.rxCopy);
      const near = button.closest(".rx-copyable")?.querySelector("pre, code");
      copied(button, button.rxText ? button.rxText() : (source || near)?.textContent ?? "");
    } else if ("rxCopyLink" in button.dataset) {
      copied(button, voila ? new URL(address(), location.href).href : model.get("query"));
    } else if ("rxToggle" in button.dataset) {
      const box = root().querySelector(`.rx-${button.dataset.rxToggle}`);
      const open = box.classList.toggle("rx-open");
      button.setAttribute("aria-expanded", String(open));
    } else if ("rxTheme" in button.dataset && voila) {
      const params = new URLSearchParams(location.search);
      params.set("theme", document.body.dataset.jpThemeLight === "false" ? "light" : "dark");
      location.search = params.toString();
    } else if ("rxReload" in button.dataset) {
      location.reload();
    } else if ("rxSend" in button.dataset) {
      model.send({ kind: button.dataset.rxSend, value: button.dataset.rxValue ?? "" });
    }
  });
  on(document, "keydown", (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
    if (event.key === "/" && !typing && voila) {
      event.preventDefault();
      root().querySelector(".rx-find")?.classList.add("rx-open");
      root().querySelector(".rx-search input")?.focus();
    }
  });

  // --- values that a reload of the page should not lose
  const store = `${PREFIX}${model.get("store")}`;
  model.on("change:values", () => {
    try {
      sessionStorage.setItem(store, model.get("values"));
    } catch {
      // Storage may be off; the file that is offered is there for that.
    }
  });
  try {
    const kept = voila && sessionStorage.getItem(store);
    if (kept && kept !== "{}\n") model.send({ kind: "restore", value: kept });
  } catch {
    // As above.
  }

  // --- is the session still there? Asked when the page is looked at again and at the first use after a pause.
  let waiting = null;
  let asked = Date.now();
  function ended() {
    waiting = null;
    const text = document.createElement("span");
    text.textContent = "The session has ended. Reloading opens the same configuration again. ";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "rx-button rx-primary";
    button.textContent = "Reload";
    button.addEventListener("click", () => location.reload());
    banner.replaceChildren(text, button);
    banner.hidden = false;
  }
  function ask() {
    if (waiting || !banner.hidden) return;
    asked = Date.now();
    waiting = setTimeout(ended, 6000);
    try {
      model.send({ kind: "alive" });
    } catch {
      clearTimeout(waiting);
      ended();
    }
  }
  model.on("msg:custom", (message, buffers) => {
    if (message.kind === "alive") {
      clearTimeout(waiting);
      waiting = null;
    } else if (message.kind === "file") {
      save(message.name, buffers?.length ? buffers : [message.text], message.type);
      say(`${message.name} downloaded`);
    }
  });
  on(document, "visibilitychange", () => document.visibilityState === "visible" && ask());
  on(document, "pointerdown", () => Date.now() - asked > 60000 && ask());
  on(document, "keydown", () => Date.now() - asked > 60000 && ask());

  writeAddress();
  model.send({ kind: "ready" });
  return () => {
    controller.abort();
    observer.disconnect();
  };
}

export default { render };
