"""The comparison of outputs with what the engine's rows state of them, on C++ and rows made up here."""

import pytest
from call_sites.compare_outputs import output_differences
from call_sites.engine import parameters
from call_sites.outputs import outputs_of
from call_sites.sites import calls_in, row_call
from call_sites.statements import OUTPUTS, stated, statements
from call_sites.terms import Rule, parsed, rewritten, written
from torch_aclnn.host.registry import entry_points

PROTOTYPE = (
    "const aclTensor* self, const aclTensor* other, const aclScalar* alpha, int64_t dim, aclTensor* out, uint64_t* w, aclOpExecutor** e"
)
ENGINE = {"aclnnMade": parameters(PROTOTYPE, set())}
GIVEN = "const at::Tensor& x, const at::Tensor& y, const at::Scalar& a, int64_t dim, at::Tensor& result"
CALL = "EXEC_NPU_CMD(aclnnMade, x, y, a, dim, z);"
RULES = [Rule(parsed("joint_size(_1, _2)"), parsed("broadcast(_1, _2)")), Rule(parsed("pair(_1)[0]"), parsed("{_1.size(0)}"))]


def calls_of(body, rest=""):
    return list(calls_in(f"namespace made {{\nat::Tensor& made({GIVEN})\n{{\n{body}\n}}\n{rest}}}\n", "made.cpp", {}))


def outputs(body, rest=""):
    found = [output for call in calls_of(body, rest) for output in outputs_of(call, ENGINE[call.entry_point])]
    return [(output.size and written(output.size), output.dtype and written(output.dtype)) for output in found]


@pytest.mark.parametrize(
    ("made", "size", "dtype"),
    [
        ("auto z = p::apply_tensor_without_format(x);", "self", "self"),
        ("auto z = p::apply_tensor(x, {1, y.size(-1)});", "{1, other.size(-1)}", "self"),
        ("auto z = p::apply_tensor_without_format(y.sizes(), x.options().dtype(at::kBool));", "other", "Bool"),
        ("auto z = p::apply_tensor_with_format(f::joint_size(x, y), y.options(), ACL_FORMAT_ND);", "joint_size(self, other)", "other"),
        ("at::Tensor z = at::empty({}, c10::dtype(c10::ScalarType::Float));", "{}", "Float"),
        ("at::Tensor z = at::empty_like(y);", "other", "other"),
        ("auto s = c10::SmallVector<int64_t, N>{x.size(0), 2L}; auto z = at::zeros(s, x.options());", "{self.size(0), 2}", "self"),
        ("auto o = x.options().dtype(at::result_type(x, y)); auto z = at::empty(x.sizes(), o);", "self", "result_type(self, other)"),
        ("auto s = f::pair(x); auto z = at::empty(std::get<1>(s), y.options());", "get<1>(pair(self))", "other"),
        ("auto s = keep ? x.sizes() : y.sizes(); auto z = at::empty(s, s2);", None, None),
        ("auto s = x.sizes().vec(); s[0] = 1; auto z = at::empty(s, x.options());", None, "self"),
        ("auto s = f::sizes(x); if (keep) { s.push_back(1); } auto z = at::empty(s, x.options());", None, "self"),
        ("at::Tensor z; if (keep) { z = at::empty_like(x); }", "self", "self"),
        ("at::Tensor z; if (keep) { z = at::empty_like(x); } else { z = at::empty_like(y); }", None, None),
        ("auto z = made_elsewhere(x);", None, None),
        ("auto w = at::empty_like(x); Wrapper z = {w, kind};", "self", None),
    ],
)
def test_how_an_output_is_made(made, size, dtype):
    assert outputs(f"{made}\n{CALL}") == [(size, dtype)]


@pytest.mark.parametrize(
    ("check", "size", "dtype"),
    [
        ("p::check_tensor({x}, result, y);", "other", "other"),
        ("p::check_tensor({x}, result, x.sizes());", "self", "out"),
        ("p::check_tensor({x, y}, result, at::kLong, {2});", "{2}", "Long"),
        ("", None, None),
    ],
)
def test_what_is_expected_of_a_given_output(check, size, dtype):
    assert outputs(check + CALL.replace(" z)", " result)")) == [(size, dtype)]


def test_a_given_output_is_what_the_callers_make_of_it():
    one = "at::Tensor other(const at::Tensor& u, const at::Tensor& v) { auto w = at::empty_like(u); return made(u, v, 1, 0, w); }\n"
    two = one + "at::Tensor more(const at::Tensor& t) { auto w = p::apply_tensor(t, {3}); made(at::ones(3), t, 1, 0, w); }\n"
    assert outputs(CALL.replace(" z)", " result)"), two) == [("self", "self"), ("{3}", "other")]


def test_a_copy_of_what_is_passed_has_its_shape():
    assert outputs("auto c = x.contiguous(); auto z = at::empty_like(x);" + CALL.replace("x,", "c,")) == [("self", "self")]


def test_a_row_states_its_outputs():
    schema = "made.more(Tensor self, Tensor other, Scalar alpha, int dim) -> Tensor"
    row = row_call(schema, {"result": {"size": "joint_size(self, other)", "dtype": "at::kInt"}, "exec": "aclnnMade"}, "table", {})
    given = row_call(schema.replace(") ->", ", *, Tensor(a!) out) ->"), {"out": {"size": "other"}, "exec": "aclnnMade"}, "table", {})
    found = [next(outputs_of(call, ENGINE["aclnnMade"])) for call in (row, given)]
    assert [(written(output.size), written(output.dtype)) for output in found] == [("joint_size(self, other)", "Int"), ("other", "out")]


@pytest.mark.parametrize(
    ("statement", "sizes", "dtype"),
    [
        ("like(self)", ["self"], "self"),
        ("shaped_like(self)", ["self"], None),
        ("Expected(inputSize, self.scalar_type())", ["inputSize"], "self"),
        ("Expected(inputSize)", ["inputSize"], None),
        ("shape({self.size(0), n + 1})", ["{self.size(0), n+1}"], None),
        ('broadcast({{"self", self}, {"other", other}})', ["broadcast({self, other})"], None),
        ("one_value()", ["{}"], None),
        ("or_empty(shape({2}))", ["{2}", "{0}", "{}"], None),
        ("if_wanted(mask[0], like(self))", ["self", "{0}", "{}"], "self"),
        ("either(one_value(), like(self))", ["{}", "self"], None),
        ("elements(1)", ["{1}", "{}"], None),
        ("elements(self.numel())", ["{self.numel()}", "self"], None),
        ("as_many_as(self)", ["self", "{self.numel()}"], None),
        ("any_shape()", [], None),
        ("of_the_file(self, dim)", ["of_the_file(self, dim)"], None),
    ],
)
def test_what_a_statement_says(statement, sizes, dtype):
    found = stated(parsed(statement))
    assert ([written(size) for size in found.sizes], found.dtype and written(found.dtype)) == (sizes, dtype)


def test_rules_apply_from_the_inside_out():
    assert written(rewritten(parsed("joint_size(y, joint_size(z, pair(x)[0]))"), RULES)) == "broadcast(y, z, {x.size(0)})"
    assert written(rewritten(parsed("joint_size(x, {})"), RULES)) == "x"
    assert written(parsed("a == None ? (x) : c10::IntArrayRef()")) == "choice(a==None, x, {})"


@pytest.mark.parametrize(
    ("made", "statement", "counted", "differing"),
    [
        ("f::joint_size(y, x), y.options()", 'broadcast({{"self", self}, {"other", other}})', "size equal, type not stated", []),
        ("f::joint_size(x, a), x.options()", "like(self)", "size equal, type equal", []),
        ("x.sizes(), at::kLong", "like(self)", "size equal, type different", [("type Long", "self")]),
        ("y.sizes(), x.options()", "like(self)", "size different, type equal", [("size other", "self")]),
        ("unknown, x.options()", "like(self)", "size unread, type equal", []),
        ("y.sizes(), x.options()", "any_shape()", "size not stated, type not stated", []),
    ],
)
def test_differences(made, statement, counted, differing):
    of_the_output = {("aclnnMade", "out"): stated(parsed(statement))}
    counts, found = output_differences(calls_of(f"auto z = at::empty({made}); {CALL}"), ENGINE, of_the_output, RULES)
    assert counts == dict.fromkeys(counted.split(", "), 1)
    assert [(difference.argument, difference.call, difference.engine) for difference in found] == [(5, *texts) for texts in differing]


def test_each_output_of_the_engine_has_a_statement():
    described = [(entry_point.name, parameter) for entry_point in entry_points() for parameter in entry_point.parameters]
    assert {(name, parameter.name) for name, parameter in described if parameter.kind in OUTPUTS} <= statements().keys()
