"""Work through what people are asked: the queue, the decisions, and the hints that webhooks bring."""
