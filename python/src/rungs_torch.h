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

enum rungs_type { rungs_f32, rungs_f64, rungs_f16, rungs_bf16, rungs_u8, rungs_i32, rungs_i64 };
enum rungs_operation { rungs_sum, rungs_min, rungs_max };

/* Changes with every change of a declaration in this file. */
#define RUNGS_INTERFACE 2
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
/* To codes of e4m3 with a scale for each row: <rungs/rows/low_precision.cuh>, fp8_rows.cuh. d_scales: num_rows floats;
 * d_weight and d_residual may be null. */
RUNGS_CALL int rungs_quantize_fp8(int type, const void* d_in, size_t in_stride, void* d_codes, float* d_scales,
                                  size_t num_rows, size_t num_columns, void* stream);
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

#endif
