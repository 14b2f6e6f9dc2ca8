"""Files of a run: tensors in safetensors files, and the run folder."""
