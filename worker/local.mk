# worker
