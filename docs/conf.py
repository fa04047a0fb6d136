"""How the site is built from these pages: `make docs` (Sphinx, with MyST for Markdown and the theme Furo)."""

project = "Weft"
author = "the authors of Weft"
copyright = "the authors of Weft"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
default_role = "code"  # docstrings quote names in single backticks
suppress_warnings = ["myst.xref_missing"]  # links to files of the repository; `tests/docs` checks every link

autodoc_typehints = "none"  # the signatures show them
autodoc_member_order = "groupwise"
autodoc_default_options = {"members": True, "undoc-members": False}

html_theme = "furo"
html_title = "Weft"
html_logo = "pictures/weft.svg"
html_favicon = "pictures/weft.svg"
html_static_path = ["static"]
html_css_files = ["weft.css"]
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {"color-brand-primary": "#9a3b12", "color-brand-content": "#9a3b12"},
    "dark_css_variables": {"color-brand-primary": "#f0935f", "color-brand-content": "#f0935f"},
}
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # output is not for copying
copybutton_prompt_text = "$ "
pygments_style = "friendly"
pygments_dark_style = "native"
