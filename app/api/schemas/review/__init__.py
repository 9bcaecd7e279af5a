"""What moderators and leads see: the queue, reasons, honest figures."""
