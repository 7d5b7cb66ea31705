"""What a decoder needs behind its last layer: top-k, the experts of a token, a token of logits, the check of drafts.

A row lies along the last dimension; its rows may have any stride. Results are exact or repeat, as docs/top_k.md and
docs/sampling.md have it. Nobody waits for the GPU, so all calls may be captured in a graph. Gradients are not computed."""

from collections import namedtuple

from .tensors import (
    FLOATS,
    address,
    check,
    check_choice,
    check_has_rows,
    check_int,
    check_number,
    check_one,
    check_same_type,
    check_shape,
    dimension,
    empty,
    in_rows,
    num_rows,
    run,
    run_with_storage,
    torch,
    type_code,
)

Sampled = namedtuple("Sampled", "tokens probabilities last_kept")


def topk(x, k, dim=-1, largest=True, sorted=True):
    """(values, indices): the k greatest or least items along `dim`, and where they are, as torch.topk. Indices are int64.

    x        float32, float16, bfloat16 or int32. Along another dimension than the last, it is copied first.
    k        from 0 to the number of items along `dim`.
    sorted   False: in any order, which may change from call to call.

    Of equals the smaller index is chosen, and comes first. NaN is greater than any number; -0 equals 0."""
    check("topk", "x", x, (*FLOATS, "int32"))
    check_has_rows("topk", "x", x)
    dim = dimension("topk", x, dim)
    source = x.movedim(dim, -1)
    check_int("topk", "k", k, 0, source.shape[-1])
    shape = (*source.shape[:-1], k)
    values, indices = empty(shape, x), empty(shape, x, torch().int64)
    if values.numel() > 0:
        source, stride = in_rows(source)
        run_with_storage(
            "rungs_top_k", x, (type_code(x), int(bool(largest)), int(bool(sorted))),
            (source.data_ptr(), stride, values.data_ptr(), indices.data_ptr(), num_rows(source), source.shape[-1], k),
        )  # fmt: skip
    return values.movedim(-1, dim), indices.movedim(-1, dim)


def route(logits, k, *, score="softmax", scored_before=True, renormalize=False, bias=None):
    """(weights, experts) of every token of a mixture of experts: float32 and int32 of the shape (tokens..., k), the first
    choice first.

    logits          (tokens..., experts): float32, float16 or bfloat16, of at most 1,024 experts
    k               from 1 to 32
    score           "softmax" or "sigmoid"
    scored_before   True: experts are chosen by their scores, of which a softmax is over all experts. False: by their
                    logits, and a softmax is over the chosen ones.
    renormalize     divide the weights of a token by their sum
    bias            float32, one for each expert: added for the choice, not in the weights

    Of equals the smaller expert is chosen. A weight has a relative error of at most 2**-16."""
    check("route", "logits", logits, FLOATS)
    check_has_rows("route", "logits", logits)
    check_choice("route", "score", score, ("softmax", "sigmoid"))
    experts = logits.shape[-1]
    if not 1 <= experts <= 1024:
        raise ValueError(f"route: logits have {experts} experts, but must have from 1 to 1024")
    check_int("route", "k", k, 1, min(32, experts))
    if bias is not None:
        check("route", "bias", bias, ("float32",), like=logits)
        check_shape("route", "bias", bias, (experts,))
        bias = bias.contiguous()
    shape = (*logits.shape[:-1], k)
    weights, chosen = empty(shape, logits, torch().float32), empty(shape, logits, torch().int32)
    if weights.numel() > 0:
        source, stride = in_rows(logits)
        run(
            "rungs_route", logits, type_code(logits), int(score == "sigmoid"), int(bool(scored_before)),
            int(bool(renormalize)), source.data_ptr(), stride, address(bias), weights.data_ptr(), chosen.data_ptr(),
            num_rows(source), experts, k,
        )  # fmt: skip
    return weights, chosen


def sample(
    logits, *, temperature=1.0, top_k=0, top_p=1.0, min_p=0.0, from_probabilities=False, draw="inverse", uniforms=None,
    seed=None, offset=0, details=False,
):  # fmt: skip
    """A token of each row, int32: drawn from those that min-p, then top-k, then top-p keep. -1 where a row has none.

    logits               (rows..., tokens): float32, float16 or bfloat16
    temperature          0: the greatest token
    top_k                0: all
    from_probabilities   whether the rows hold probabilities, of any sum
    draw                 "inverse", or "gumbel" for the greatest of log-probabilities with noise
    uniforms             float32 from [0, 1), one for each row, for "inverse" draws
    seed, offset         of random numbers, where there are no uniforms. The same two draw the same tokens on every GPU.
                         seed=None takes one from torch's generator of the CPU. offset is an int, or an int64 tensor of one
                         item on the GPU, which is read when the kernel runs: so a graph draws anew in each replay.
    details              return (tokens, probabilities, last_kept): the probability of the token among those that are
                         kept, float32, and the last token that is kept, int32

    Cuts are exact: of equals the smaller token comes first. NaN and -inf are never drawn, nor are tokens whose
    probability is less than 2**-32 of the greatest one's."""
    check("sample", "logits", logits, FLOATS)
    check_has_rows("sample", "logits", logits)
    check_choice("sample", "draw", draw, ("inverse", "gumbel"))
    tokens = logits.shape[-1]
    if not 1 <= tokens <= 2**24:
        raise ValueError(f"sample: logits have {tokens} tokens, but must have from 1 to {2**24}")
    temperature = check_number("sample", "temperature", temperature)
    if from_probabilities and temperature != 1:
        raise ValueError(f"sample: temperature is {temperature}, but must be 1 for probabilities")
    check_int("sample", "top_k", top_k, 0, 2**31 - 1)
    top_p, min_p = check_number("sample", "top_p", top_p, 1), check_number("sample", "min_p", min_p, 1)
    if uniforms is not None and draw != "inverse":
        raise ValueError(f"sample: uniforms are for draw='inverse', but draw is {draw!r}")
    shape = logits.shape[:-1]
    uniforms, seed, offset, on_the_gpu = _random("sample", logits, uniforms, shape, seed, offset)
    drawn = empty(shape, logits, torch().int32)
    probabilities = empty(shape, logits, torch().float32) if details else None
    last_kept = empty(shape, logits, torch().int32) if details else None
    if drawn.numel() > 0:
        source, stride = in_rows(logits)
        run(
            "rungs_sample", logits, type_code(logits), int(bool(from_probabilities)), int(draw == "gumbel"),
            source.data_ptr(), stride, temperature, top_k, top_p, min_p, address(uniforms), seed, offset,
            address(on_the_gpu), drawn.data_ptr(), address(last_kept), address(probabilities), num_rows(source), tokens,
        )  # fmt: skip
    return Sampled(drawn, probabilities, last_kept) if details else drawn


def verify(target, draft, drafted, *, uniforms=None, seed=None, offset=0):
    """(tokens, num_accepted): speculative decoding's check of drafted tokens, and the token that follows. int32.

    target    (requests, drafts + 1, tokens): probabilities of the target model, float32, float16 or bfloat16
    draft     (requests, drafts, tokens): those that the drafts were drawn from, of the same type
    drafted   (requests, drafts): int32, from 1 to 8 drafts
    uniforms  (requests, drafts + 1): float32 from [0, 1). Without them, seed and offset are as in `sample`: rows that
              tokens were drawn from with the same seed need another offset.

    A row of `tokens` has the drafts that stay, the token that follows, and -1 behind it. Draft x stays while
    u draft[x] < target[x]. At the first refusal a token is drawn from max(0, target - draft); where all stay, from the
    last row of `target`."""
    requests, drafts, tokens = _check_drafts("verify", target, draft)
    check("verify", "drafted", drafted, ("int32",), like=target)
    check_shape("verify", "drafted", drafted, (requests, drafts))
    uniforms, seed, offset, on_the_gpu = _random("verify", target, uniforms, (requests, drafts + 1), seed, offset)
    result = empty((requests, drafts + 1), target, torch().int32)
    accepted = empty((requests,), target, torch().int32)
    if requests > 0:
        (target, target_stride), (draft, draft_stride), drafted = in_rows(target), in_rows(draft), drafted.contiguous()
        run(
            "rungs_verify", target, type_code(target), target.data_ptr(), target_stride, draft.data_ptr(), draft_stride,
            drafted.data_ptr(), address(uniforms), seed, offset, address(on_the_gpu), result.data_ptr(),
            accepted.data_ptr(), requests, drafts, tokens,
        )  # fmt: skip
    return result, accepted


def greatest_ratios(target, draft):
    """The maximum of target / draft at each position of `verify`'s tensors: (requests, drafts), float32. 0 / 0 and NaN do
    not count; a positive number divided by 0 is inf."""
    requests, drafts, tokens = _check_drafts("greatest_ratios", target, draft)
    ratios = empty((requests, drafts), target, torch().float32)
    if requests > 0:
        (target, target_stride), (draft, draft_stride) = in_rows(target), in_rows(draft)
        run(
            "rungs_greatest_ratios", target, type_code(target), target.data_ptr(), target_stride, draft.data_ptr(),
            draft_stride, ratios.data_ptr(), requests, drafts, tokens,
        )  # fmt: skip
    return ratios


def _check_drafts(name, target, draft):
    """Requests, drafts and tokens."""
    check(name, "target", target, FLOATS)
    check(name, "draft", draft, FLOATS, like=target)
    check_same_type(name, "draft", draft, target)
    if draft.dim() != 3:
        raise ValueError(f"{name}: draft must have the shape (requests, drafts, tokens), but has {tuple(draft.shape)}")
    requests, drafts, tokens = draft.shape
    if not (1 <= drafts <= 8 and 1 <= tokens <= 2**22):
        raise ValueError(f"{name}: draft has {drafts} drafts of {tokens} tokens, but must have 1 to 8 of 1 to {2**22}")
    check_shape(name, "target", target, (requests, drafts + 1, tokens))
    return requests, drafts, tokens


def _random(name, like, uniforms, shape, seed, offset):
    """Uniforms, seed, offset and the offset on the GPU, of which some are None."""
    if uniforms is not None:
        check(name, "uniforms", uniforms, ("float32",), like=like)
        check_shape(name, "uniforms", uniforms, shape)
        uniforms = uniforms.contiguous()
    if seed is None:
        seed = 0 if uniforms is not None else int(torch().randint(2**63 - 1, ()))
    check_int(name, "seed", seed, 0, 2**64 - 1)
    on_the_gpu = None
    if hasattr(offset, "data_ptr"):
        check(name, "offset", offset, ("int64",), like=like)
        check_one(name, "offset", offset)
        offset, on_the_gpu = 0, offset
    check_int(name, "offset", offset, 0, 2**64 - 1)
    return uniforms, seed, offset, on_the_gpu
