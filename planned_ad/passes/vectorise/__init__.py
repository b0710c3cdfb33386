"""Loops whose iterations do not depend on one another become array operations."""
