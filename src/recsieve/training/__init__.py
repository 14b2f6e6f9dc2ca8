"""Training: the loop, which model of it is kept, its record, and its checkpoint."""

from recsieve.training.loop import Event, Trained, Training, TrainingPlan, Validated

__all__ = ["Event", "Trained", "Training", "TrainingPlan", "Validated"]
