/* SPDX-License-Identifier: MIT */
/* einloom inside another program: a matrix product on a memory, a buffer and a multiplier, with an
** open tile shape; prints what the buffer asks from the memory, as a formula and at M0 = 16. */
#include <einloom.h>
#include <stdio.h>

static void build_workload(loom_ctx *ctx, loom_workload *w) {
  static const int64_t once[] = {1};
  loom_expr one = loom_int(ctx, 1), byte = loom_int(ctx, 8);
  loom_workload_variable(w, "m", loom_int(ctx, 128));
  loom_workload_variable(w, "k", loom_int(ctx, 64));
  loom_workload_variable(w, "n", loom_int(ctx, 128));
  int matmul = loom_workload_einsum(w, "MM", false, one);
  static const char *const tensors[] = {"A", "B", "Z"};
  static const char *const variables[][2] = {{"m", "k"}, {"k", "n"}, {"m", "n"}};
  static const char *const ranks[][2] = {{"M", "K"}, {"K", "N"}, {"M", "N"}};
  for (int t = 0; t < 3; t++) {
    int access = loom_workload_access(w, matmul, tensors[t], t == 2, byte);
    for (int i = 0; i < 2; i++)
      loom_workload_rank(w, matmul, access, ranks[t][i], 0, 1, &variables[t][i], once);
  }
}

static void build_arch(loom_ctx *ctx, loom_arch *a) {
  static const char *const memories[] = {"DRAM", "GLB"};
  loom_expr one = loom_int(ctx, 1);
  for (int i = 0; i < 2; i++) {
    int memory = loom_arch_component(a, LOOM_MEMORY, memories[i]);
    loom_arch_action(a, memory, "read", one, LOOM_NONE, one);
    loom_arch_action(a, memory, "write", one, LOOM_NONE, one);
  }
  int mac = loom_arch_component(a, LOOM_COMPUTE, "MAC");
  loom_arch_action(a, mac, "compute", one, one, LOOM_NONE);
}

static void build_mapping(loom_ctx *ctx, loom_mapping *m) {
  loom_expr one = loom_int(ctx, 1);
  int dram = loom_mapping_storage(m, 0, "DRAM", false, true);
  loom_mapping_tensor(m, dram, "A");
  loom_mapping_tensor(m, dram, "B");
  loom_mapping_tensor(m, dram, "Z");
  loom_mapping_temporal(m, 0, "m", loom_symbol(ctx, "M0", NULL), LOOM_NONE);
  int glb = loom_mapping_storage(m, 0, "GLB", false, true);
  loom_mapping_tensor(m, glb, "B");
  loom_mapping_temporal(m, 0, "m", one, LOOM_NONE);
  loom_mapping_temporal(m, 0, "n", one, LOOM_NONE);
  loom_mapping_temporal(m, 0, "k", one, LOOM_NONE);
  loom_mapping_compute(m, 0, "MM", "MAC");
}

/* The buffet of a tensor at a level, or NULL. */
static const loom_buffet *find(const loom_stats *stats, char tensor, char level) {
  for (size_t i = 0; i < stats->n_buffets; i++)
    if (stats->buffets[i].tensor[0] == tensor && stats->buffets[i].level[0] == level)
      return &stats->buffets[i];
  return NULL;
}

static void report(loom_ctx *ctx, const loom_result *r) {
  const loom_buffet *b = find(loom_result_stats(r, 0), 'B', 'G');
  if (!b) return;
  loom_expr reads = b->field[LOOM_BUFFET_total_reads_to_parent];
  loom_expr symbol = loom_symbol(ctx, "M0", NULL), sixteen = loom_int(ctx, 16);
  char *formula = loom_print(ctx, reads, LOOM_INFIX);
  char *number = loom_print(ctx, loom_substitute(ctx, reads, 1, &symbol, &sixteen), LOOM_INFIX);
  if (formula && number) printf("B@GLB reads %s values, %s at M0 = 16\n", formula, number);
  loom_free(formula);
  loom_free(number);
}

int main(void) {
  loom_ctx *ctx = loom_ctx_new();
  if (!ctx) return 1;
  loom_workload *w = loom_workload_new(ctx);
  loom_arch *a = loom_arch_new(ctx);
  loom_mapping *m = loom_mapping_new(ctx);
  loom_result *r = NULL;
  if (w && a && m) {
    build_workload(ctx, w);
    build_arch(ctx, a);
    build_mapping(ctx, m);
    r = loom_analyze(w, a, m, NULL);
  }
  if (r) report(ctx, r);
  int status = loom_error_status(ctx) == LOOM_OK ? 0 : 1;
  if (status) fprintf(stderr, "%s\n", loom_error_message(ctx));
  loom_result_free(r);
  loom_mapping_free(m);
  loom_arch_free(a);
  loom_workload_free(w);
  loom_ctx_free(ctx);
  return status;
}
