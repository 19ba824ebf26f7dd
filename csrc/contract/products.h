// The products of the published pages, and on which of them each operator of the package has its entry point.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string_view>

namespace torch_aclnn {

// The products that documents list operators for: Ascend310P, Ascend910A, Ascend910B1 to B4, Ascend910_93, Ascend310B, Ascend950.
enum class Product { inference, training, a2, a3, edge, ascend950 };
constexpr Product kProducts[] = {Product::inference, Product::training, Product::a2, Product::a3, Product::edge, Product::ascend950};

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

constexpr Products kInferenceToA3{Product::inference, Product::training, Product::a2, Product::a3};
constexpr Products kTrainingToA3{Product::training, Product::a2, Product::a3};
constexpr Products kA2AndA3{Product::a2, Product::a3};

struct Listed {
    std::string_view operator_name;
    Products products;
};

// By the newest page of each entry point (docs/operators/README.md, "Products"). torch_aclnn/check/listed.py has the versions.
constexpr Listed kListed[] = {
    {"avg_pool2d", kInferenceToA3},
    {"avg_pool3d", kA2AndA3},
    {"adaptive_avg_pool2d", kInferenceToA3},
    {"adaptive_avg_pool3d", kA2AndA3},
    {"replication_pad1d", kInferenceToA3},
    {"replication_pad2d", kInferenceToA3},
    {"replication_pad3d", kTrainingToA3},
    {"reflection_pad1d", kInferenceToA3},
    {"reflection_pad2d", kInferenceToA3},
    {"reflection_pad3d", kTrainingToA3},
    {"circular_pad2d", kA2AndA3},
    {"circular_pad3d", kA2AndA3},
    {"max_unpool2d", kTrainingToA3},
    {"max_unpool3d", kTrainingToA3},
    {"batch_norm_elemt", kTrainingToA3},
};

// The products that list an operator of the package, such as "avg_pool2d".
constexpr Products listed_products(std::string_view operator_name) {
    for (const Listed& listed : kListed)
        if (listed.operator_name == operator_name) return listed.products;
    throw std::invalid_argument("listed_products: expected an operator of the package");
}

}  // namespace torch_aclnn
