"""A demo world of invented dated events whose causes are known."""

from fitcarl.data.world.generation import World, generate_world
from fitcarl.data.world.rules import DESCRIPTIONS, Rule
from fitcarl.data.world.size import SIZES, WorldSize
from fitcarl.data.world.truth import Truth

__all__ = ["DESCRIPTIONS", "SIZES", "Rule", "Truth", "World", "WorldSize", "generate_world"]
