"""What optimizer models answer, read from their text.

A reply whose frame is wrong raises ReplyError, with a sentence that can be put before the model
again. Within a right frame, what is usable is kept and the rest is listed in `problems`. How many
attempts support a change is not read from the reply: we know it, the model guesses.

A reply should be one JSON object. Of several, those that list changes or notes are read together,
the last one first, because a model that corrects itself ends with what it means; of those that
give one value the last one counts.
"""

from __future__ import annotations

from skillopt.loop.replies.choices import (
    LearningRateReply,
    RankReply,
    parse_learning_rate,
    parse_rank,
)
from skillopt.loop.replies.notes import NotesReply, notes_wanted, parse_notes
from skillopt.loop.replies.patches import (
    CHANGES_KEY,
    AnalystReply,
    MergeReply,
    parse_analyst,
    parse_merge,
    salvaged_analyst,
)
from skillopt.loop.replies.rows import (
    ProposedChange,
    ProposedEdit,
    ProposedRewrite,
    ProposedSuggestion,
)
from skillopt.loop.replies.schemas import reply_schema
from skillopt.loop.replies.texts import (
    GuidanceReply,
    RewriteReply,
    parse_meta_skill,
    parse_rewrite,
    parse_slow_update,
)

__all__ = [
    "CHANGES_KEY",
    "AnalystReply",
    "GuidanceReply",
    "LearningRateReply",
    "MergeReply",
    "NotesReply",
    "ProposedChange",
    "ProposedEdit",
    "ProposedRewrite",
    "ProposedSuggestion",
    "RankReply",
    "RewriteReply",
    "notes_wanted",
    "parse_analyst",
    "parse_learning_rate",
    "parse_merge",
    "parse_meta_skill",
    "parse_notes",
    "parse_rank",
    "parse_rewrite",
    "parse_slow_update",
    "reply_schema",
    "salvaged_analyst",
]
