"""How the figures of the site look: readable on a phone, and not tied to the light or the dark page around them."""

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
