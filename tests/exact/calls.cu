#include "exact/calls.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <new>
#include <rungs/device/device_reduce.cuh>

namespace rungs::tests::exact {
namespace {

template <class T>
struct type_tag {
  using type = T;
};

// f(type_tag<T>{}) for the type of that number.
template <class F>
auto with_type(number type, F f) {
  switch (type) {
    case number::f16:
      return f(type_tag<__half>{});
    case number::bf16:
      return f(type_tag<__nv_bfloat16>{});
    case number::f32:
      return f(type_tag<float>{});
    case number::f64:
    default:
      return f(type_tag<double>{});
  }
}
template <class F>
auto with_record(const records& of, F f) {
  return with_type(of.of, [&]<class item>(type_tag<item>) {
    return of.what == operation::sum ? f(type_tag<exact_sum<item>>{}) : f(type_tag<exact_dot<item>>{});
  });
}

template <class Item, class Out, class... Storage>
cudaError_t made(const call& call, Out* d_out, Storage&... storage) {
  const auto *a = static_cast<const Item*>(call.d_a), *b = static_cast<const Item*>(call.d_b);
  return call.what == operation::sum ? DeviceReduce::ExactSum(storage..., a, d_out, call.num_items, call.stream)
                                     : DeviceReduce::ExactDot(storage..., a, b, d_out, call.num_items, call.stream);
}

template <class... Storage>
cudaError_t made_for(const call& call, number result, void* d_out, Storage&... storage) {
  return with_type(call.of, [&](auto item) {
    return with_type(result, [&](auto out) {
      return made<typename decltype(item)::type>(call, static_cast<typename decltype(out)::type*>(d_out), storage...);
    });
  });
}
template <class... Storage>
cudaError_t made_for(const call& call, void* d_record, Storage&... storage) {
  return with_type(call.of, [&]<class item>(type_tag<item>) {
    const auto* a = static_cast<const item*>(call.d_a);
    if (call.what == operation::sum)
      return DeviceReduce::ExactSum(storage..., a, static_cast<exact_sum<item>*>(d_record), call.num_items,
                                    call.stream);
    return DeviceReduce::ExactDot(storage..., a, static_cast<const item*>(call.d_b),
                                  static_cast<exact_dot<item>*>(d_record), call.num_items, call.stream);
  });
}

}  // namespace

cudaError_t enqueue(const call& call, number result, void* d_out, void* d_temp_storage, std::size_t& bytes) {
  return made_for(call, result, d_out, d_temp_storage, bytes);
}
cudaError_t enqueue(const call& call, number result, void* d_out, workspace& workspace) {
  return made_for(call, result, d_out, workspace);
}

std::size_t records::bytes() const {
  return with_record(*this, [](auto tag) { return sizeof(typename decltype(tag)::type); });
}
cudaError_t records::enqueue(const call& call, void* d_record, void* d_temp_storage, std::size_t& bytes) const {
  return made_for(call, d_record, d_temp_storage, bytes);
}
cudaError_t records::enqueue(const call& call, void* d_record, workspace& workspace) const {
  return made_for(call, d_record, workspace);
}
void records::make_zero(void* record) const {
  with_record(*this, [&](auto tag) { new (record) typename decltype(tag)::type; });
}
void records::merge(void* record, const void* other) const {
  with_record(*this,
              [&]<class type>(type_tag<type>) { *static_cast<type*>(record) += *static_cast<const type*>(other); });
}
std::uint64_t records::rounded(const void* record, number result) const {
  return with_record(*this, [&](auto tag) {
    return with_type(result, [&](auto out) {
      const auto value =
          static_cast<const typename decltype(tag)::type*>(record)->template rounded<typename decltype(out)::type>();
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof(value));
      return bits;
    });
  });
}

}  // namespace rungs::tests::exact
