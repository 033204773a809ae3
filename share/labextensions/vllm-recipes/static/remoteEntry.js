// A launcher entry for JupyterLab, written by hand so that nothing has to be built: a container of
// module federation with one module, the plugin below.
(() => {
  const NAME = "vllm-recipes";
  const COMMAND = "vllm-recipes:open";
  const FILE = "vllm-recipes.ipynb";
  const ICON =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="24"><path class="jp-icon-brand0 jp-icon-selectable" fill="#1976d2" d="M4 4h16v3H4zm0 6.5h11v3H4zM4 17h7v3H4zm13-3 4 4-4 4-1.4-1.4L18.200 18l-2.6-2.600z"/></svg>';
  let scope = {};

  // What JupyterLab itself uses of a package, so that its tokens are the same objects.
  async function shared(name) {
    const versions = scope[name];
    if (!versions) throw new Error(`${NAME}: JupyterLab shares no ${name}`);
    const factory = await Object.values(versions)[0].get();
    return factory();
  }

  const NOTEBOOK = {
    nbformat: 4,
    nbformat_minor: 5,
    metadata: { kernelspec: { name: "python3", display_name: "Python 3", language: "python" } },
    cells: [
      {
        cell_type: "code",
        id: "explorer",
        execution_count: null,
        metadata: {},
        outputs: [],
        source: "from recipes_core.explorer import explorer\n\nexplorer()",
      },
    ],
  };

  async function openExplorer(app, folder) {
    const contents = app.serviceManager.contents;
    const path = folder ? `${folder}/${FILE}` : FILE;
    const there = await contents.get(path, { content: false }).catch(() => null);
    if (!there) await contents.save(path, { type: "notebook", format: "json", content: NOTEBOOK });
    const panel = await app.commands.execute("docmanager:open", { path, factory: "Notebook" });
    await panel.context.ready;
    await panel.sessionContext.ready;
    await app.commands.execute("notebook:run-all-cells");
    return panel;
  }

  async function extension() {
    const { ILauncher } = await shared("@jupyterlab/launcher");
    const { ICommandPalette } = await shared("@jupyterlab/apputils");
    const { LabIcon } = await shared("@jupyterlab/ui-components");
    const icon = new LabIcon({ name: `${NAME}:icon`, svgstr: ICON });
    const plugin = {
      id: `${NAME}:launcher`,
      description: "Opens the recipes explorer in a notebook.",
      autoStart: true,
      optional: [ILauncher, ICommandPalette],
      activate(app, launcher, palette) {
        app.commands.addCommand(COMMAND, {
          label: "vLLM recipes",
          caption: "Exact vllm serve commands, and whether they fit",
          icon,
          execute: (args) => openExplorer(app, args?.cwd ?? ""),
        });
        launcher?.add({ command: COMMAND, category: "Other", rank: 0 });
        palette?.addItem({ command: COMMAND, category: "Notebook" });
      },
    };
    return () => ({ __esModule: true, default: plugin });
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB[NAME] = {
    init(given) {
      scope = given;
    },
    get(module) {
      if (module !== "./extension") return Promise.reject(new Error(`${NAME}: no module ${module}`));
      return extension();
    },
  };
})();
