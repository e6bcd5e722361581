"""What other tools do not say: how one number came about (`why`), and what it touches (`reach`)."""
