#!/usr/bin/env python3
"""The next tokens of a batch of logits: their losses, probabilities and greatest columns, by rungs_torch and by torch.

    pip install ./python && python3 examples/torch_rows.py

Exits with 0 if the results agree, 1 if not, 77 where there is no GPU or no torch."""

import sys


def main():
    try:
        import torch

        import rungs_torch
    except ImportError as error:
        print(f"torch_rows: {error}")
        return 77
    if not torch.cuda.is_available():
        print("torch_rows: no GPU")
        return 77

    torch.manual_seed(1)
    logits = torch.randn(512, 32768, device="cuda")
    target = torch.randint(0, logits.shape[1], (logits.shape[0],), device="cuda")

    loss = rungs_torch.cross_entropy(logits, target)
    best = rungs_torch.argmax(logits, -1)
    wanted_loss = torch.nn.functional.cross_entropy(logits, target)
    wanted = torch.softmax(logits, -1)
    rungs_torch.softmax(logits, out=logits)  # in place: nothing is allocated

    good = torch.allclose(loss, wanted_loss, rtol=1e-5) and torch.allclose(logits, wanted, rtol=1e-4, atol=1e-9)
    good = good and bool((best == wanted.argmax(-1)).all())
    print(f"torch_rows: loss {loss.item():.4f} of {logits.shape[0]} rows, {'right' if good else 'WRONG'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
