"""Tensors that an adapter makes on its way to a result take memory that earlier ones have left, up to a limit, in threads and children."""

import textwrap

from support.subprocesses import output_of

# The adapter computes a convolution into memory of its own, of the size of the result.
CONVOLUTION = """
import os, resource, threading
import torch_aclnn, torch

def convolve(numbers, value=1.0, device="npu"):
    x = torch.full((1, 16, numbers // 16000, 1000), value, device=device)
    return torch.nn.functional.conv2d(x, torch.full((16, 16, 1, 1), 2.0, device=device))
"""
LARGE = 12_000_000  # numbers of 4 bytes, for which malloc asks the system each time
FORKS = 10


def test_a_second_convolution_meets_no_new_pages():
    code = """
    def faults():
        torch.npu.synchronize()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    for _ in range(2):
        convolve(LARGE)
    before = faults()
    for _ in range(3):
        convolve(LARGE)
    print((faults() - before) // 3)
    """
    assert int(run(code)) < LARGE * 4 // 4096 / 10


def test_no_more_than_half_a_gibibyte_is_kept():
    code = """
    def resident_mib():
        torch.npu.synchronize()
        torch.npu.empty_cache()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20

    convolve(16_000)
    before = resident_mib()
    for mib in (60, 80, 110, 150):
        convolve(mib * 1024 * 1024 // 4)
    print(resident_mib() - before)
    """
    assert int(run(code)) < 512 + 100


def test_threads_take_different_memory():
    code = """
    torch.set_num_threads(1)
    wrong = []

    def repeat(value):
        torch.npu.set_device(0)
        with torch.npu.stream(torch.npu.Stream()):
            for _ in range(20):
                if not bool((convolve(320_000, value) == 32 * value).all()):
                    wrong.append(value)

    threads = [threading.Thread(target=repeat, args=[value]) for value in (1.0, 2.0, 3.0, 4.0)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(wrong)
    """
    assert run(code) == "[]"


def test_a_child_that_is_forked_meanwhile_convolves_on_the_cpu():
    code = """
    torch.set_num_threads(1)
    at_end = threading.Event()

    def repeat():
        while not at_end.is_set():
            convolve(96_000)

    thread = threading.Thread(target=repeat)
    thread.start()
    statuses = set()
    for _ in range(FORKS):
        child = os.fork()
        if child == 0:
            os._exit(int(convolve(96_000, device="cpu").sum() != 32 * 96_000))
        statuses.add(os.waitpid(child, 0)[1])
    at_end.set()
    thread.join()
    print(statuses)
    """
    assert run(code) == "{0}"


def run(code: str) -> str:
    return output_of(CONVOLUTION + f"LARGE, FORKS = {LARGE}, {FORKS}\n" + textwrap.dedent(code))
