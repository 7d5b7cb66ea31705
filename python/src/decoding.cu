// A decoder's last step: experts of a token, a token of logits, and the check of drafts.
#include <rungs/rows/routing.cuh>
#include <rungs/rows/sampling.cuh>
#include <rungs/rows/verification.cuh>

#include "types.cuh"

using namespace rungs_torch;
namespace rows = rungs::rows;

int rungs_route(int type, int sigmoid, int scored_before, int renormalised, const void* d_logits, size_t logits_stride,
                const float* d_bias, float* d_weights, int* d_experts, size_t num_tokens, size_t num_experts, size_t k,
                void* stream) {
  const shape of_logits{num_tokens, num_experts}, of_results{num_tokens, k};
  rows::routing how;
  how.score = sigmoid ? rows::routing_score::sigmoid : rows::routing_score::softmax;
  how.scored_before = scored_before;
  how.renormalised = renormalised;
  how.d_bias = d_bias;
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rows::route(of_logits.read<T>(d_logits, logits_stride), of_results.written<float>(d_weights),
                       of_results.written<int>(d_experts), how, stream_of(stream));
  });
}

int rungs_sample(int type, int from_probabilities, int gumbel, const void* d_logits, size_t logits_stride,
                 float temperature, int top_k, float top_p, float min_p, const float* d_uniforms,
                 unsigned long long seed, unsigned long long offset, const unsigned long long* d_offset, int* d_tokens,
                 int* d_last_kept, float* d_probabilities, size_t num_rows, size_t num_columns, void* stream) {
  rows::sampling how;
  how.temperature = temperature;
  how.top_k = top_k;
  how.top_p = top_p;
  how.min_p = min_p;
  how.from_probabilities = from_probabilities;
  how.draw = gumbel ? rows::sampling_draw::gumbel : rows::sampling_draw::inverse;
  how.d_uniforms = d_uniforms;
  how.seed = seed;
  how.offset = offset;
  how.d_offset = d_offset;
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rows::sample(shape{num_rows, num_columns}.read<T>(d_logits, logits_stride), d_tokens, how, stream_of(stream),
                        {d_last_kept, d_probabilities});
  });
}

int rungs_verify(int type, const void* d_target, size_t target_stride, const void* d_draft, size_t draft_stride,
                 const int* d_drafted, const float* d_uniforms, unsigned long long seed, unsigned long long offset,
                 const unsigned long long* d_offset, int* d_tokens, int* d_num_accepted, size_t num_requests,
                 size_t num_drafts, size_t num_columns, void* stream) {
  const shape of_target{num_requests * (num_drafts + 1), num_columns}, of_draft{num_requests * num_drafts, num_columns};
  const rows::verification how{d_uniforms, seed, offset, d_offset};
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rows::verify(of_target.read<T>(d_target, target_stride), of_draft.read<T>(d_draft, draft_stride),
                        shape{num_requests, num_drafts}.read<int>(d_drafted),
                        shape{num_requests, num_drafts + 1}.written<int>(d_tokens), d_num_accepted, how,
                        stream_of(stream));
  });
}

int rungs_greatest_ratios(int type, const void* d_target, size_t target_stride, const void* d_draft,
                          size_t draft_stride, float* d_ratios, size_t num_requests, size_t num_drafts,
                          size_t num_columns, void* stream) {
  const shape of_target{num_requests * (num_drafts + 1), num_columns}, of_draft{num_requests * num_drafts, num_columns};
  return with_float(type, [&](auto item) {
    using T = typename decltype(item)::named;
    return rows::greatest_ratios(of_target.read<T>(d_target, target_stride), of_draft.read<T>(d_draft, draft_stride),
                                 shape{num_requests, num_drafts}.written<float>(d_ratios), stream_of(stream));
  });
}
