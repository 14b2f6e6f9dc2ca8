"""Training: the loop, which model of it is kept, its record, and its checkpoint."""

from recsieve.training.loop import Began, Event, Trained, Training, TrainingPlan, Validated
from recsieve.training.memory import InteractionMemory

__all__ = ["Began", "Event", "InteractionMemory", "Trained", "Training", "TrainingPlan", "Validated"]
