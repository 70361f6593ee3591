/* vsetvli t0, a0, e32, m1 */
int main(void)
{
	asm volatile(".word 0x0d0572d7" ::: "t0");
	return 0;
}
