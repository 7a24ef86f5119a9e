"""Settings that leave a run hardly any room to change its document."""

from __future__ import annotations

from skillopt.domain.plan import RunPlan
from skillopt.loop.length import tokens_of


def no_room(plan: RunPlan) -> list[str]:
    """Warn of a limit that the document is over from the start, and of steps without edits."""
    optimizer, warnings = plan.settings.optimizer, []
    limit, tokens = optimizer.max_skill_tokens, tokens_of(len(plan.initial.of(plan.primary)))
    if limit is not None and tokens > limit:
        warnings.append(
            f"optimizer.max_skill_tokens: {limit!r}, but the document has about {tokens} tokens "
            "already: a candidate may not be longer than it; raise the limit, or shorten the "
            "document"
        )
    has_rate = optimizer.skill_update_mode != "full_rewrite_minibatch"
    if has_rate and optimizer.lr_control_mode == "fixed" and optimizer.learning_rate == 0:
        warnings.append(
            "optimizer.learning_rate: 0 lets no step edit the document, though its train tasks are "
            "tried and paid for; give 1 or more"
        )
    return warnings
