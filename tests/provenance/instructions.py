"""Which instructions of PTX and SASS carry a kernel's meaning, by opcode: what memory and math instructions are."""

from __future__ import annotations

import re

PTX = {
    "memory": "ld st atom red cp ldmatrix stmatrix",
    "none": "bar bra call cvta exit fence ld.param membar mov nanosleep ret st.param trap",
    "arithmetic": "abs add addc bfe bfi bfind brev clz copysign cos div ex2 fma fns lg2 mad max min mul neg popc rcp"
    " rem rsqrt sad sin sqrt sub tanh testp",
    "logic": "and lop3 not or prmt selp set setp shf shl shr slct xor",
    "conversion": "cvt",
    "collective": "activemask match redux shfl vote",
    "matrix": "mma wgmma",
}
SASS = {
    "memory": "ATOM ATOMG ATOMS LD LDG LDGSTS LDS LDSM RED REDG ST STG STS STSM",
    "arithmetic": "BREV DADD DFMA DMNMX DMUL DSETP FADD FCHK FFMA FFMA32I FLO FMNMX FMUL FMUL32I FSEL FSET FSETP HADD2"
    " HFMA2 HMNMX2 HMUL2 HSET2 HSETP2 IABS IADD IADD3 IDP IMAD IMNMX IMUL ISCADD ISETP LEA MUFU POPC UFLO UIADD3 UIMAD"
    " UISETP ULEA UPOPC VIADD VIADDMNMX VIMNMX",
    "none": "BAR BMOV BRA BREAK BSSY BSYNC CALL CCTL CS2R DEPBAR ERRBAR EXIT HFMA2.MMA IMAD.MOV LDC LDL MEMBAR MOV NOP"
    " P2R PLOP3 R2P R2UR RET S2R S2UR STL UIMAD.MOV ULDC UMOV UPLOP3 USETMAXREG VOTEU.ALL WARPSYNC YIELD",
    "logic": "BMSK LOP3 PRMT SEL SGXT SHF UBMSK ULOP3 UPRMT USEL USGXT USHF",
    "conversion": "F2F F2FP F2I F2IP FRND I2F I2FP I2I",
    "collective": "CREDUX MATCH REDUX SHFL VOTE VOTEU",
    "matrix": "BMMA DMMA HGMMA HMMA IGMMA IMMA QGMMA",
}
"""Class to opcodes; a longer opcode wins. Class none: moves (some in the clothes of a multiplication), jumps, barriers,
special registers, parameters and spills."""

_TABLES = {"ptx": PTX, "sass": SASS}
_KINDS = {
    stage: {opcode: kind for kind, opcodes in table.items() for opcode in opcodes.split()}
    for stage, table in _TABLES.items()
}
_INSTRUCTION = {
    "ptx": re.compile(r"\t(?:@!?%p\d+\s+)?([a-z][a-z0-9_]*(?:\.[\w:]+)*)\s"),
    "sass": re.compile(r"  /\*[0-9a-f]+\*/ (?:@!?U?P\w+ )?([A-Z][A-Z0-9_]*(?:\.[\w]+)*)(?: |$)"),
}


def opcode_of(stage: str, line: str) -> str:
    """The opcode with its modifiers, or "" for a line without an instruction.

    >>> opcode_of("ptx", "\\t@%p1 ld.global.b32 %r1, [%rd2];")
    'ld.global.b32'
    >>> opcode_of("sass", "  /*00f0*/ @!P0 LDG.E.64 R6, [R2.64]")
    'LDG.E.64'
    """
    found = _INSTRUCTION[stage].match(line)
    return found[1] if found else ""


def kind_of(stage: str, opcode: str) -> str:
    """The class of an opcode: "none" for what is neither memory nor math, "" for one that the tables do not know.

    >>> kind_of("ptx", "ld.global.b32"), kind_of("ptx", "ld.param.b64"), kind_of("sass", "EXIT")
    ('memory', 'none', 'none')
    """
    parts = opcode.split(".")
    prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((_KINDS[stage][prefix] for prefix in prefixes if prefix in _KINDS[stage]), "")
