"""The demo world: a generated temporal knowledge graph whose facts follow known rules."""

from fitcarl.synthetic.generation import World, generate_world
from fitcarl.synthetic.rules import DESCRIPTIONS, Rule
from fitcarl.synthetic.size import SIZES, WorldSize
from fitcarl.synthetic.truth import Truth

__all__ = ["DESCRIPTIONS", "SIZES", "Rule", "Truth", "World", "WorldSize", "generate_world"]
