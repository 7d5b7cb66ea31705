/* The C interface of rungs: the calls of the front door for memory of the device, as other languages reach them.
 *
 * type              what the items are: one of rungs_type. cudaErrorNotSupported where a call does not take it.
 * d_temp_storage,   as in CUB: a call with a null d_temp_storage only sets temp_storage_bytes. The storage may hold
 * temp_storage_bytes  anything.
 * stride            items from the beginning of a row to that of the next one.
 * stream            a cudaStream_t. The current device has to be the one of the stream.
 * returns           a cudaError_t, which rungs_error_string explains.
 *
 * Nothing is allocated and nobody waits: calls may be captured in a graph. What a call promises is said in the header
 * of the front door that is named with it.
 *
 * python/rungs_torch/library.py repeats these declarations; python/tests compares the two. */
#ifndef RUNGS_TORCH_H
#define RUNGS_TORCH_H

#include <stddef.h>

#ifdef __cplusplus
#define RUNGS_CALL extern "C" __attribute__((visibility("default")))
#else
#define RUNGS_CALL
#endif

enum rungs_type {
  rungs_f32,
  rungs_f64,
  rungs_f16,
  rungs_bf16,
  rungs_u8,
  rungs_i32,
  rungs_i64,
  rungs_e4m3,
  rungs_e5m2,
  rungs_e8m0
};
enum rungs_operation { rungs_sum, rungs_min, rungs_max, rungs_abs_max };
enum rungs_format { rungs_fp8_rows, rungs_fp8_groups, rungs_mxfp8, rungs_mxfp4, rungs_nvfp4 };

/* Changes with every change of a declaration in this file. */
#define RUNGS_INTERFACE 3
RUNGS_CALL int rungs_interface(void);
/* "major.minor.patch" */
RUNGS_CALL const char* rungs_version(void);
RUNGS_CALL const char* rungs_error_string(int error);

/* Rows of a matrix: f32, f16, bf16. <rungs/rows/softmax.cuh>, norms.cuh, log_sum_exp.cuh, cross_entropy.cuh,
 * merge_attention.cuh */
RUNGS_CALL int rungs_softmax(int type, const void* d_in, size_t in_stride, void* d_out, size_t out_stride,
                             size_t num_rows, size_t num_columns, void* stream);
RUNGS_CALL int rungs_log_softmax(int type, const void* d_in, size_t in_stride, void* d_out, size_t out_stride,
                                 size_t num_rows, size_t num_columns, void* stream);
/* d_weight, d_bias and d_residual may be null. */
RUNGS_CALL int rungs_layer_norm(int type, const void* d_in, size_t in_stride, void* d_out, size_t out_stride,
                                size_t num_rows, size_t num_columns, const void* d_weight, const void* d_bias,
                                float epsilon, void* d_residual, size_t residual_stride, void* stream);
RUNGS_CALL int rungs_rms_norm(int type, const void* d_in, size_t in_stride, void* d_out, size_t out_stride,
                              size_t num_rows, size_t num_columns, const void* d_weight, const void* d_bias,
                              float epsilon, void* d_residual, size_t residual_stride, void* stream);
/* To codes of e4m3 with a scale for each row: <rungs/rows/fp8_rows.cuh>. d_scales: num_rows floats; d_weight and
 * d_residual may be null. */
RUNGS_CALL int rungs_rms_norm_fp8(int type, const void* d_in, size_t in_stride, void* d_codes, float* d_scales,
                                  size_t num_rows, size_t num_columns, const void* d_weight, float epsilon,
                                  void* d_residual, size_t residual_stride, void* stream);
/* d_out: num_rows floats. */
RUNGS_CALL int rungs_log_sum_exp(int type, const void* d_in, size_t in_stride, float* d_out, size_t num_rows,
                                 size_t num_columns, void* stream);
/* d_losses: num_rows floats. */
RUNGS_CALL int rungs_cross_entropy(int type, const void* d_logits, size_t logits_stride, const long long* d_targets,
                                   long long ignored, float* d_losses, size_t num_rows, size_t num_columns,
                                   void* stream);
/* *d_out, of `type`: the sum of the losses, or their mean over the targets that are not ignored. */
RUNGS_CALL int rungs_join_losses(int type, void* d_temp_storage, size_t* temp_storage_bytes, const float* d_losses,
                                 const long long* d_targets, long long ignored, int mean, void* d_out,
                                 size_t num_losses, void* stream);
/* d_log_sum_exp: num_parts * num_rows floats; d_merged: num_rows floats. */
RUNGS_CALL int rungs_merge_attention(int type, const void* d_outputs, const float* d_log_sum_exp, unsigned num_parts,
                                     size_t num_rows, size_t num_columns, void* d_out, float* d_merged, void* stream);

/* All items: f32, f64, f16, bf16, i32, i64. <rungs/device/device_reduce.cuh>. Sums of i32 are i64. */
RUNGS_CALL int rungs_reduce(int operation, int type, void* d_temp_storage, size_t* temp_storage_bytes,
                            const void* d_in, void* d_out, size_t num_items, void* stream);
/* operation: min or max. d_index: one long long. */
RUNGS_CALL int rungs_arg_reduce(int operation, int type, void* d_temp_storage, size_t* temp_storage_bytes,
                                const void* d_in, void* d_extremum, long long* d_index, size_t num_items,
                                void* stream);

/* Each row of a packed matrix: the same types. <rungs/device/device_segmented_reduce.cuh> */
RUNGS_CALL int rungs_reduce_rows(int operation, int type, void* d_temp_storage, size_t* temp_storage_bytes,
                                 const void* d_in, void* d_out, size_t num_rows, size_t num_columns, void* stream);
RUNGS_CALL int rungs_arg_reduce_rows(int operation, int type, void* d_temp_storage, size_t* temp_storage_bytes,
                                     const void* d_in, long long* d_indices, size_t num_rows, size_t num_columns,
                                     void* stream);

/* Prefix sums: the same types. <rungs/device/device_scan.cuh>. Sums of i32 are i64. */
RUNGS_CALL int rungs_scan(int type, int exclusive, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_in,
                          void* d_out, size_t num_items, void* stream);
/* Inclusive, of each row of a packed matrix. */
RUNGS_CALL int rungs_scan_rows(int type, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_in,
                               void* d_out, size_t num_rows, size_t num_columns, void* stream);

/* Histograms. <rungs/device/device_histogram.cuh>.
 * f32, f64: num_bins counts in d_bins, of the type of the samples. The last bin holds samples of `upper`, too. */
RUNGS_CALL int rungs_count_even(int type, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_samples,
                                void* d_bins, size_t num_bins, double lower, double upper, size_t num_samples,
                                void* stream);
/* u8, i32, i64: how often each of the values 0 to num_bins - 1 is there. */
RUNGS_CALL int rungs_count_values(int type, void* d_temp_storage, size_t* temp_storage_bytes, const void* d_samples,
                                  long long* d_bins, size_t num_bins, size_t num_samples, void* stream);

/* Of each row, the k greatest or least items and their columns: f32, f16, bf16, i32. <rungs/device/device_top_k.cuh>
 * Results are packed: num_rows * k. k is at most num_columns. */
RUNGS_CALL int rungs_top_k(int type, int greatest, int sorted, void* d_temp_storage, size_t* temp_storage_bytes,
                           const void* d_in, size_t in_stride, void* d_items, long long* d_columns, size_t num_rows,
                           size_t num_columns, size_t k, void* stream);

/* A decoder's last step: f32, f16, bf16. <rungs/rows/routing.cuh>, sampling.cuh, verification.cuh. Results are packed.
 * d_bias, d_uniforms, d_offset, d_last_kept and d_probabilities may be null. */
RUNGS_CALL int rungs_route(int type, int sigmoid, int scored_before, int renormalised, const void* d_logits,
                           size_t logits_stride, const float* d_bias, float* d_weights, int* d_experts,
                           size_t num_tokens, size_t num_experts, size_t k, void* stream);
RUNGS_CALL int rungs_sample(int type, int from_probabilities, int gumbel, const void* d_logits, size_t logits_stride,
                            float temperature, int top_k, float top_p, float min_p, const float* d_uniforms,
                            unsigned long long seed, unsigned long long offset, const unsigned long long* d_offset,
                            int* d_tokens, int* d_last_kept, float* d_probabilities, size_t num_rows,
                            size_t num_columns, void* stream);
RUNGS_CALL int rungs_verify(int type, const void* d_target, size_t target_stride, const void* d_draft,
                            size_t draft_stride, const int* d_drafted, const float* d_uniforms, unsigned long long seed,
                            unsigned long long offset, const unsigned long long* d_offset, int* d_tokens,
                            int* d_num_accepted, size_t num_requests, size_t num_drafts, size_t num_columns,
                            void* stream);
RUNGS_CALL int rungs_greatest_ratios(int type, const void* d_target, size_t target_stride, const void* d_draft,
                                     size_t draft_stride, float* d_ratios, size_t num_requests, size_t num_drafts,
                                     size_t num_columns, void* stream);

/* Low precision: <rungs/rows/low_precision.cuh>. Codes and scales are packed. fp4 is bytes of two codes.
 * f32, f16, bf16 to a format. scale_type: f32 or e8m0 for the two of fp8; else e8m0 for mx, e4m3 for nvfp4.
 * d_global_scale is for nvfp4, and may be null. num_columns: of items. */
RUNGS_CALL int rungs_quantize(int format, int type, int scale_type, const void* d_in, size_t in_stride, void* d_codes,
                              void* d_scales, const float* d_global_scale, size_t num_rows, size_t num_columns,
                              void* stream);
/* operation: sum or abs_max. Types: e4m3, e5m2. Of all items, and of each row. */
RUNGS_CALL int rungs_reduce_codes(int operation, int type, void* d_temp_storage, size_t* temp_storage_bytes,
                                  const void* d_in, float* d_out, size_t num_items, void* stream);
RUNGS_CALL int rungs_reduce_rows_of_codes(int operation, int type, const void* d_in, size_t in_stride, float* d_out,
                                          size_t num_rows, size_t num_columns, void* stream);
/* The sum of code * scale of fp4. scale_type: e4m3 for groups of 16, e8m0 for 32, f32 for either. d_global_scale may be
 * null. num_items: of codes; num_columns: of bytes. */
RUNGS_CALL int rungs_dequantizing_sum(int scale_type, int group, void* d_temp_storage, size_t* temp_storage_bytes,
                                      const void* d_codes, const void* d_scales, const float* d_global_scale,
                                      float* d_out, size_t num_items, void* stream);
RUNGS_CALL int rungs_dequantizing_sum_rows(int scale_type, int group, const void* d_codes, size_t codes_stride,
                                           const void* d_scales, const float* d_global_scale, float* d_out,
                                           size_t num_rows, size_t num_columns, void* stream);

/* Rows of e4m3 or e5m2 to f32, f16 or bf16: <rungs/rows/fp8_rows.cuh>. d_scales: a float for each row if scale_of_rows,
 * else one for all; null: 1. Weight and bias are of out_type, and may be null. */
RUNGS_CALL int rungs_softmax_of_codes(int logarithm, int type, int out_type, const void* d_in, size_t in_stride,
                                      const float* d_scales, int scale_of_rows, void* d_out, size_t out_stride,
                                      size_t num_rows, size_t num_columns, void* stream);
RUNGS_CALL int rungs_norm_of_codes(int centred, int type, int out_type, const void* d_in, size_t in_stride,
                                   const float* d_scales, int scale_of_rows, void* d_out, size_t out_stride,
                                   size_t num_rows, size_t num_columns, const void* d_weight, const void* d_bias,
                                   float epsilon, void* stream);

#endif
