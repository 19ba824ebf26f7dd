// Names for the slots' functions. The loader reads a library's symbols where they lie in memory, so the names that the linker gave these
// functions are taken out of its hash table, and one is put in under another name when an entry point is added. The library is linked with
// the hash table of the ELF standard (DT_HASH), whose chains are as long as need be.

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "engine/symbols/slots.h"

// The library's own, as the linker places it.
extern "C" __attribute__((visibility("hidden"))) const ElfW(Ehdr) __ehdr_start;

namespace torch_aclnn::host {
namespace {

// As the ELF standard defines it.
uint32_t hash_of(const char* name) {
    uint32_t hash = 0;
    for (; *name != '\0'; ++name) {
        hash = (hash << 4) + static_cast<unsigned char>(*name);
        const uint32_t high = hash & 0xf0000000U;
        hash = (hash ^ (high >> 24)) & ~high;
    }
    return hash;
}

// Loaders add the library's address to it, or do not.
char* dynamic_address(ElfW(Sxword) tag) {
    const auto base = reinterpret_cast<uintptr_t>(&__ehdr_start);
    for (const ElfW(Dyn)* entry = _DYNAMIC; entry->d_tag != DT_NULL; ++entry) {
        const auto address = static_cast<uintptr_t>(entry->d_un.d_ptr);
        if (entry->d_tag == tag) return reinterpret_cast<char*>(address < base ? base + address : address);
    }
    return nullptr;
}

bool make_writable(void* begin, size_t size) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t first = reinterpret_cast<uintptr_t>(begin) & ~(page - 1);
    return mprotect(reinterpret_cast<void*>(first), reinterpret_cast<uintptr_t>(begin) + size - first, PROT_READ | PROT_WRITE) == 0;
}

constexpr size_t kNameBytes = kMaxAddedEntryPoints * 256;
char added_names[kNameBytes];  // in this library, because a symbol has the distance of its name from the others

class SymbolTable {
   public:
    // Never destroyed: entry points are called while the process ends.
    static SymbolTable& of_process() {
        static auto* const once = new SymbolTable;
        return *once;
    }

    // False if there is no room, or if the table cannot be written.
    bool add(const char* name, const AddedEntryPoint& added) {
        if (const auto known = slots_of_.find(name); known != slots_of_.end()) {
            slots[known->second].store(&added, std::memory_order_release);
            return true;
        }
        const size_t slot = slots_of_.size();
        const std::string phase1 = std::string(name) + "GetWorkspaceSize";
        if (!writable_ || slot == kMaxAddedEntryPoints || used_ + 2 * (phase1.size() + 1) > kNameBytes) return false;
        slots_of_.emplace(name, slot);
        slots[slot].store(&added, std::memory_order_release);
        insert(second_phases_[slot], name);
        insert(first_phases_[slot], phase1.c_str());
        return true;
    }

   private:
    SymbolTable()
        : hash_(reinterpret_cast<uint32_t*>(dynamic_address(DT_HASH))),
          symbols_(reinterpret_cast<ElfW(Sym) *>(dynamic_address(DT_SYMTAB))),
          texts_(dynamic_address(DT_STRTAB)) {
        if (hash_ == nullptr || symbols_ == nullptr || texts_ == nullptr) return;
        bucket_count_ = hash_[0];
        symbol_count_ = hash_[1];
        writable_ = make_writable(hash_, (2 + bucket_count_ + symbol_count_) * sizeof *hash_) &&
                    make_writable(symbols_, symbol_count_ * sizeof *symbols_);
        if (writable_) take_slots_out();
    }

    // Those that are in no slot are put back under their own names.
    void take_slots_out() {
        std::memset(buckets(), 0, bucket_count_ * sizeof *hash_);
        for (uint32_t symbol = 1; symbol < symbol_count_; ++symbol) {
            const char* const name = texts_ + symbols_[symbol].st_name;
            if (!note_slot(name, TORCH_ACLNN_FIRST_PHASE, symbol, first_phases_) &&
                !note_slot(name, TORCH_ACLNN_SECOND_PHASE, symbol, second_phases_))
                chain(symbol, name);
        }
    }

    static bool note_slot(const char* name, const char* prefix, uint32_t symbol, uint32_t (&symbols)[kMaxAddedEntryPoints]) {
        const size_t length = std::strlen(prefix);
        if (std::strncmp(name, prefix, length) != 0) return false;
        symbols[std::strtoul(name + length, nullptr, 10)] = symbol;
        return true;
    }

    void insert(uint32_t symbol, const char* name) {
        char* const text = added_names + used_;
        const size_t size = std::strlen(name) + 1;
        std::memcpy(text, name, size);
        used_ += size;
        symbols_[symbol].st_name = static_cast<ElfW(Word)>(text - texts_);
        chain(symbol, text);
    }

    // Other threads may search meanwhile: they find the symbol when all of it is there.
    void chain(uint32_t symbol, const char* name) {
        uint32_t* const bucket = &buckets()[hash_of(name) % bucket_count_];
        buckets()[bucket_count_ + symbol] = *bucket;
        __atomic_store_n(bucket, symbol, __ATOMIC_RELEASE);
    }

    uint32_t* buckets() const { return hash_ + 2; }

    uint32_t* const hash_;
    ElfW(Sym) * const symbols_;
    char* const texts_;
    uint32_t bucket_count_ = 0, symbol_count_ = 0;
    bool writable_ = false;
    uint32_t first_phases_[kMaxAddedEntryPoints] = {}, second_phases_[kMaxAddedEntryPoints] = {};
    std::map<std::string, size_t> slots_of_;
    size_t used_ = 0;
};

}  // namespace

bool add_entry_point(const char* name, const AddedEntryPoint& added) noexcept {
    try {
        return SymbolTable::of_process().add(name, added);
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace torch_aclnn::host
