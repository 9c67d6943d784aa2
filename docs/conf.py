"""How the site is built: `make docs`, warnings are errors, nothing is fetched.

Pages are Markdown (MyST). Tutorials are text notebooks, executed while the site is built. The API
reference comes from docstrings, the errata cards from `errata.md`, numbers from published tables.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]
# Kernels of the notebooks run what is here, wherever they are started.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(HERE.parent / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
)
os.environ.setdefault("MPLBACKEND", "Agg")
# They speak TCP inside this machine, and need not warn of that once per notebook.
PROFILE = HERE / "_build" / "ipython" / "profile_default"
PROFILE.mkdir(parents=True, exist_ok=True)
(PROFILE / "ipython_kernel_config.json").write_text('{"IPKernelApp": {"log_level": "ERROR"}}')
os.environ["IPYTHONDIR"] = str(PROFILE.parent)

project = "limelight"
author = "The limelight authors"
copyright = "the limelight authors"  # noqa: A001
version = release = "0.1.0"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "docstrings",
    "reference",
    "mathml",
    "pictures",
    "percents",
]
exclude_patterns = ["_build", "_ext", "**/.ipynb_checkpoints", "errata.md", "**/README.md"]
# A page may begin with a mark, and need not be executed.
suppress_warnings = ["myst.header", "myst-nb.lexer"]

# --- Markdown -------------------------------------------------------------------------------------
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath", "attrs_block"]
myst_heading_anchors = 4

# --- notebooks ------------------------------------------------------------------------------------
nb_execution_mode = os.environ.get("LIMELIGHT_DOCS_EXECUTE", "cache")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_execution_in_temp = False

# --- API ------------------------------------------------------------------------------------------
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # types stand in the signatures
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
default_role = "code"
add_module_names = False
python_maximum_signature_line_length = 88
toc_object_entries = False

# --- HTML -----------------------------------------------------------------------------------------
html_theme = "furo"
pygments_dark_style = "github-dark"  # Furo's own underlines modules, as if they were links
html_title = "limelight"
html_static_path = ["_static"]
html_css_files = ["limelight.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1b6e53",
        "color-brand-content": "#1b6e53",
        "font-stack": "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', sans-serif",
        "font-stack--monospace": "ui-monospace, 'DejaVu Sans Mono', Menlo, monospace",
    },
    "dark_css_variables": {"color-brand-primary": "#5ec9a3", "color-brand-content": "#5ec9a3"},
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
