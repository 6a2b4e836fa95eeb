"""Measured training steps, converted to rows of `ppc-plan --evaluate` and compared with what it predicts."""
