// The version of the library, and the inline namespace that carries it into every symbol: two versions in one program
// do not collide. Headers write `namespace rungs::v0`, users write `rungs::`.
#pragma once

namespace rungs {
inline namespace v0 {

inline constexpr int version_major = 0, version_minor = 1, version_patch = 0;

}  // namespace v0
}  // namespace rungs
