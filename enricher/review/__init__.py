"""Web pages and webhooks: what people and platforms reach over HTTP."""
