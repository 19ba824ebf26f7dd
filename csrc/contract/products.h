// The products of the published pages.
#pragma once

#include <initializer_list>

namespace torch_aclnn {

// The products that documents list operators for: Ascend310P, Ascend910B1 to B4, Ascend910_93, Ascend310B, Ascend950. No list is kept for
// the first Ascend 910, `former`.
enum class Product { former, inference, a2, a3, edge, ascend950 };
constexpr Product kProducts[] = {Product::inference, Product::a2, Product::a3, Product::edge, Product::ascend950};

class Products {
   public:
    constexpr Products() = default;
    constexpr Products(std::initializer_list<Product> products) {
        for (const Product product : products) bits_ |= bit(product);
    }
    constexpr bool has(Product product) const { return (bits_ & bit(product)) != 0; }

   private:
    static constexpr unsigned bit(Product product) { return 1U << static_cast<unsigned>(product); }

    unsigned bits_ = 0;
};

constexpr Products kInferenceToA3{Product::inference, Product::a2, Product::a3};
constexpr Products kA2AndA3{Product::a2, Product::a3};
constexpr Products kAscend950{Product::ascend950}, kNoProduct;

}  // namespace torch_aclnn
