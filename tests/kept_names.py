"""Names that a language has for something else: its own words, what its headers declare or define."""

from keyword import iskeyword, softkwlist

C = """auto bool break case char const continue default do double else enum extern float for goto if inline
int long register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
while alignas alignof constexpr false nullptr static_assert thread_local true typeof typeof_unqual asm
_Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local"""
CPP = """and_eq bitand bitor catch char8_t char16_t char32_t compl concept const_cast consteval constinit
co_await co_return co_yield decltype delete dynamic_cast explicit export friend mutable namespace new noexcept
not_eq operator or_eq private protected public reinterpret_cast requires static_cast template this throw try
typeid typename using virtual wchar_t xor xor_eq"""
RUST = """abstract become box crate dyn final fn gen impl let loop macro match mod move mut override priv
pub ref self static super trait type union unsafe unsized use where yield"""
JS = """arguments debugger default delete eval extends function implements instanceof interface let new package
protected static super switch throw undefined var void __proto__ constructor toString"""
MATH = """log exp sqrt pow sin cos tan tanh erf gamma lgamma signgam y0 y1 yn j0 j1 jn log1p exp10 significand
drem scalb floor fabs fma round index signal size_t memcpy printf main"""
MACROS = """NAN INFINITY NULL EOF HUGE_VAL M_PI M_E M_1_PI FP_NAN MATH_ERRNO SEEK_SET BUFSIZ SNAN linux unix
stdin stdout stderr math_errhandling errno P_tmpdir __LINE__ __x86_64__ _GNU_SOURCE"""
OURS = """vectors tensors vector vector_count cells name kind size rank shape offset t x y total dot q q_shape Q
log_shape q_2 print_cells feed graphattn_vector graphattn_tensor"""
FILES = "con prn aux nul com1 lpt9"
NAMES = tuple(
    name
    for name in dict.fromkeys(" ".join([C, CPP, RUST, JS, MATH, MACROS, OURS, FILES, *softkwlist]).split())
    if not iskeyword(name) and name != "_"
)
"""Each once; those that Python keeps to itself are no names of tensors."""
