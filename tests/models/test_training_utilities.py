"""What surrounds the steps of a training script on npu: data augmentation, metrics, hooks, other ways to make and to keep a model."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from support.training import RECIPES, Training, batch, make_model


def augmented(images: torch.Tensor) -> torch.Tensor:
    """Normalise, flip, crop, erase, rotate and mix, as one chain."""
    device = images.device
    x = (images - images.mean((0, 2, 3), keepdim=True)) / images.std((0, 2, 3), keepdim=True)
    x = torch.where((torch.arange(len(x), device=device) % 2 == 0).view(-1, 1, 1, 1), x, x.flip(-1))
    x = F.pad(x, (2, 2, 2, 2), mode="reflect")[..., 1:17, 3:19].clone()
    x[..., 4:8, 5:9] = 0
    turn = torch.tensor([[0.8, -0.6, 0.1], [0.6, 0.8, 0.0]], device=device).repeat(len(x), 1, 1)
    x = F.grid_sample(x, F.affine_grid(turn, list(x.shape), align_corners=False), align_corners=False)
    return 0.7 * x + 0.3 * x.roll(1, 0)


def test_augmented_images_are_those_of_the_cpu():
    images, _ = batch("lenet")
    torch.testing.assert_close(augmented(images.npu()).cpu(), augmented(images), rtol=1e-4, atol=1e-5)


def test_metrics_are_those_of_the_cpu():
    logits, labels = torch.randn(100, 10), torch.randint(10, (100,))

    def metrics(logits: torch.Tensor, labels: torch.Tensor) -> list[torch.Tensor]:
        guesses = logits.argmax(1)
        among_five = (logits.topk(5).indices == labels[:, None]).any(1)
        confusion = torch.bincount(labels * 10 + guesses, minlength=100).view(10, 10)
        return [(guesses == labels).float().mean(), among_five.float().mean(), confusion, confusion.diag() / confusion.sum(1)]

    for a, b in zip(metrics(logits.npu(), labels.npu()), metrics(logits, labels), strict=True):
        torch.testing.assert_close(a.cpu(), b)


@pytest.mark.parametrize("place", ["npu", "meta"])
def test_a_model_made_on_npu_takes_a_state_and_trains_like_one_that_was_moved(place):
    with torch.device(place):
        model = RECIPES["resnet"].model()
    model, moved = model.to_empty(device="npu") if place == "meta" else model, make_model("resnet")
    assert {t.device.type for t in model.state_dict().values()} == {"npu"}
    model.load_state_dict(moved.state_dict())
    assert Training("resnet", "npu", model).run(3) == Training("resnet", "npu", moved).run(3)


def test_initialisation_on_npu_has_the_spread_it_should():
    with torch.device("npu"):
        weight = torch.empty(256, 128)
    nn.init.kaiming_normal_(weight)
    assert weight.std().item() == pytest.approx((2 / 128) ** 0.5, rel=0.02)
    nn.init.xavier_uniform_(weight)
    bound = (6 / (256 + 128)) ** 0.5
    assert weight.abs().max().item() == pytest.approx(bound, rel=1e-3) and weight.abs().max().item() <= bound
    torch.testing.assert_close(nn.init.orthogonal_(weight).mT @ weight, torch.eye(128, device="npu"), rtol=0, atol=1e-5)


def test_a_whole_model_survives_pickling(tmp_path):
    model, x = make_model("resnet").npu().eval(), batch("resnet")[0].npu()
    torch.save(model, tmp_path / "model.pt")
    assert torch.equal(torch.load(tmp_path / "model.pt", weights_only=False)(x), model(x))


def test_a_schedule_follows_the_loss_on_npu():
    optimizer = torch.optim.SGD(make_model("lenet").npu().parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    for value in (2.0, 1.0, 1.5):
        schedule.step(torch.tensor(value, device="npu"))
    assert optimizer.param_groups[0]["lr"] == 0.05


def test_hooks_see_values_and_change_gradients():
    model, x = make_model("lenet").npu(), batch("lenet")[0].npu()
    seen = []
    handle = model.features.register_forward_hook(lambda module, inputs, output: seen.append(output.shape))
    weight = model.classifier[-1].weight
    model(x).sum().backward()
    plain, weight.grad = weight.grad, None
    weight.register_hook(lambda gradient: 2 * gradient)
    handle.remove()
    model(x).sum().backward()
    assert seen == [(16, 16, 2, 2)] and torch.equal(weight.grad, 2 * plain)


@pytest.mark.filterwarnings("ignore:Error detected", "ignore:Anomaly Detection")
def test_anomaly_detection_names_the_function_that_gave_nan():
    x = torch.zeros(3, device="npu", requires_grad=True)
    with torch.autograd.detect_anomaly(check_nan=True), pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan"):
        (x.sqrt() * 0).sum().backward()


def test_a_step_on_a_stream_of_its_own_is_the_same_step():
    expected, training = Training("lenet", "npu").run(3), Training("lenet", "npu")
    stream = torch.npu.Stream()
    stream.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(stream):
        losses = training.run(3)
    assert losses == expected
