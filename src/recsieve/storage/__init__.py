"""What a run leaves on disk: tensors in safetensors files, and the folder that holds them."""
