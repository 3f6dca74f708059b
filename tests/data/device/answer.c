int answer(int x)
{
	return x + 1;
}
int main(void)
{
	return answer(2);
}
