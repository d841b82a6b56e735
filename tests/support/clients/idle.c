/* Links cuDNN and the CUDA runtime and calls neither. */
int main(void)
{
    return 0;
}
