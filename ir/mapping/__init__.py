"""Decisions about how a target runs tasks, as analyses of IR: which of these fit, and what each costs."""
