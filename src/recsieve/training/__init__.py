"""Training: gradient descent, the driver of every fit, early stopping, history, checkpoints."""

from recsieve.denoisers import InteractionMemory
from recsieve.training.driver import Driver
from recsieve.training.events import Began, Event, Trained, Validated
from recsieve.training.gradient import GradientFitting, TrainingPlan

__all__ = ["Began", "Driver", "Event", "GradientFitting", "InteractionMemory", "Trained", "TrainingPlan", "Validated"]
