// How a variant wants its storage.
#pragma once

#include "rungs/contract.cuh"

namespace rungs::v0 {

template <class Variant, class = void>
inline constexpr contents temp_storage_of = contents::uninitialised;
template <class Variant>
inline constexpr contents temp_storage_of<Variant, decltype(void(Variant::temp_storage))> = Variant::temp_storage;

}  // namespace rungs::v0
