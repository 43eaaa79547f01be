"""How the figures of the site look: readable on a phone, and not tied to the light or the dark page around them."""

from warnings import catch_warnings

from cycler import cycler

BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#1f6f8b", "#d9822b", "#3a7d44", "#b5413b", "#6b4e9b", "#7a7f85"


def reset(_gallery, _script) -> None:
    """Set the style before each example, which may change what it likes."""
    import matplotlib as mpl

    mpl.rcdefaults()
    mpl.rcParams.update(
        {
            "axes.axisbelow": True,
            "axes.edgecolor": GREY,
            "axes.grid": True,
            "axes.prop_cycle": cycler(color=[BLUE, ORANGE, GREEN, RED, PURPLE, GREY]),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.constrained_layout.use": True,
            "figure.figsize": (6.4, 4.0),
            "figure.max_open_warning": 0,
            "font.size": 11,
            "grid.alpha": 0.25,
            "image.cmap": "viridis",
            "legend.frameon": False,
            "lines.linewidth": 2,
            "lines.markersize": 6,
            "savefig.dpi": 110,
        }
    )


def scrape_returned(block, block_vars, gallery_conf) -> str:
    """Save figures that a function has returned, which pyplot knows nothing of; those with a name, each once."""
    from matplotlib import pyplot as plt
    from matplotlib.figure import Figure
    from sphinx_gallery.scrapers import figure_rst

    if block[0] != "code":
        return ""
    for number in plt.get_fignums():
        plt.figure(number).is_on_the_page = True  # by the scraper of pyplot's figures, which comes next
    paths = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, Figure) and not hasattr(value, "is_on_the_page"):
            value.is_on_the_page = True
            path = next(block_vars["image_path_iterator"])
            with catch_warnings(action="ignore", category=UserWarning):  # of a layout that it does without
                value.savefig(path)
            paths.append(path)
    return figure_rst(paths, gallery_conf["src_dir"]) if paths else ""
