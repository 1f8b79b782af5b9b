"""Channels: actors that pass messages on, so that there are chains of messages; new entities write to them too."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.synthetic.actors import Actors
from fitcarl.synthetic.events import Events
from fitcarl.synthetic.feuds import NewEntities
from fitcarl.synthetic.size import WorldSize
from fitcarl.synthetic.verbs import MESSAGE

STAGE = 7
"""Days of each of the three stages: messages to the relay, from the relay, and from its partners."""
_WAIT = 15
"""Maximum number of days from the appearance of a new entity to the start of its channel."""
_MESSAGES = np.flatnonzero(MESSAGE).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Channels:
    """Members write to a relay with one relation; the relay writes to partners, and these to others."""

    relay: NDArray[np.int32]
    """int32 [channels]: receives the messages of the members."""
    relation: NDArray[np.int32]
    """int32 [channels]: relation of the messages of the members."""
    start: NDArray[np.int64]
    """int64 [channels], first day."""
    member_channel: NDArray[np.int64]
    """int64 [members]."""
    member: NDArray[np.int32]
    """int32 [members]: an established actor or a new entity."""


def make_channels(new_entities: NewEntities, actors: Actors, size: WorldSize, rng: np.random.Generator) -> Channels:
    """Generates one channel per new entity, in its country, and one per eight established actors at any time.

    Args:
        new_entities: The new entities; each is a member of the channel of the same number.
        actors: All actors, new entities included.
        size: The size of the world.
        rng: Random generator.
    """
    count = size.new_entities + actors.established // 8
    start = rng.integers(size.days - 3 * STAGE, size=count)
    wait = rng.integers(_WAIT + 1, size=size.new_entities)
    start[: size.new_entities] = new_entities.start + wait
    entity = np.arange(actors.established, len(actors), dtype=np.int32)
    relay = actors.draw_near(np.concatenate([entity, actors.draw_any(count - len(entity), rng)]), rng)

    channel = np.repeat(np.arange(count), rng.integers(1, 4, size=count))
    member = _draw_evenly(actors, actors.bloc[relay[channel]], rng)
    return Channels(
        relay,
        rng.choice(_MESSAGES, size=count),
        start,
        np.concatenate([np.arange(len(entity)), channel]),
        np.concatenate([entity, member]),
    )


def channel_events(channels: Channels, actors: Actors, rng: np.random.Generator) -> Events:
    """The messages of all channels: to the relay, from it to one or two partners, and from each to one or two."""
    channel = channels.member_channel
    incoming = _messages(channels, channel, channels.member, channels.relay[channel], 0, rng)
    incoming = Events.of(incoming.subject, channels.relation[channel], incoming.object, incoming.time)

    channel = np.repeat(np.arange(len(channels.relay)), rng.integers(1, 3, size=len(channels.relay)))
    relay = channels.relay[channel]
    partner = _draw_evenly(actors, actors.bloc[relay], rng)
    passed = _messages(channels, channel, relay, partner, 1, rng)

    further = np.repeat(np.arange(len(partner)), rng.integers(1, 3, size=len(partner)))
    sender = partner[further]
    bloc = np.where(rng.random(len(sender)) < 0.7, actors.bloc[sender], actors.bloc[sender] ^ 1)
    outgoing = _messages(channels, channel[further], sender, _draw_evenly(actors, bloc, rng), 2, rng)
    return Events.concat([incoming, passed, outgoing])


def _messages(
    channels: Channels,
    channel: NDArray[np.int64],
    sender: NDArray[np.int32],
    receiver: NDArray[np.int32],
    stage: int,
    rng: np.random.Generator,
) -> Events:
    """One message per sender on a day of a stage of its channel."""
    day = channels.start[channel] + stage * STAGE + rng.integers(STAGE, size=len(channel))
    return Events.of(sender, rng.choice(_MESSAGES, size=len(channel)), receiver, day)


def _draw_evenly(actors: Actors, bloc: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
    """int32 [draws]: an established actor from each bloc, all equally likely."""
    first, end = actors.bloc_range[bloc].T
    return (first + (rng.random(len(bloc)) * (end - first)).astype(np.int64)).astype(np.int32)
