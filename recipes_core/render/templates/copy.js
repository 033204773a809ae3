for (const block of document.querySelectorAll("pre[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const text = block.querySelector("code").textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.before(button);
}
const filter = document.querySelector("input[data-filter]");
if (filter) {
  const rows = [...document.querySelectorAll("[data-words]")];
  const count = document.querySelector("[data-count]");
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const hit = words.every((word) => row.dataset.words.includes(word));
      row.hidden = !hit;
      shown += hit ? 1 : 0;
    }
    for (const group of document.querySelectorAll("[data-group]")) {
      group.hidden = !group.querySelector("[data-words]:not([hidden])");
    }
    if (count) count.textContent = `${shown} of ${rows.length}`;
  };
  filter.addEventListener("input", apply);
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) filter.value = asked;
  apply();
}
