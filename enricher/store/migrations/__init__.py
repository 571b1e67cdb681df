"""The steps that bring a store of any age to the present schema; each is released once and never changed."""
